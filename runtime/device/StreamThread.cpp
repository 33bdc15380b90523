#include "runtime/device/StreamThread.h"

#include <cstring>

namespace tandem {
namespace {

bool never() { return false; }

} // namespace

StreamThread::StreamThread(Ending &ending, std::function<void()> before)
    : ending(ending), before(std::move(before)), ring(capacity),
      thread([this] { loop(); }) {}

StreamThread::~StreamThread() {
  push(Command());
  thread.join();
}

void StreamThread::enqueue(const HostWork &work) {
  Command command;
  command.kind = Kind::Work;
  command.work = &work;
  push(command);
}

void StreamThread::record(Event &event, uint32_t point) {
  Command command;
  command.kind = Kind::Record;
  command.event = &event;
  command.point = point;
  push(command);
}

void StreamThread::wait(Event &event, uint32_t point) {
  Command command;
  command.kind = Kind::Wait;
  command.event = &event;
  command.point = point;
  push(command);
}

void StreamThread::spoil(std::byte *data, size_t bytes) {
  Command command;
  command.kind = Kind::Spoil;
  command.data = data;
  command.bytes = bytes;
  push(command);
}

void StreamThread::push(const Command &command) {
  uint32_t index = pushed.value();
  done.wait(
      [index](uint32_t finished) {
        return WaitWord::reached(finished, index + 1 - capacity);
      },
      never, WaitWord::spinWhenSpare);
  ring[index % capacity] = command;
  pushed.set(index + 1);
}

void StreamThread::drain() {
  uint32_t target = pushed.value();
  done.wait(
      [target](uint32_t finished) {
        return WaitWord::reached(finished, target);
      },
      never, WaitWord::spinWhenSpare);
}

void StreamThread::loop() {
  for (uint32_t index = 0;; ++index) {
    pushed.wait(
        [index](uint32_t filled) {
          return WaitWord::reached(filled, index + 1);
        },
        never, WaitWord::spinWhenSpare);
    Command command = ring[index % capacity];
    if (command.kind == Kind::Stop)
      return;
    if (before && !ending.reached())
      before();
    execute(command);
    done.set(index + 1);
  }
}

void StreamThread::execute(const Command &command) {
  switch (command.kind) {
  case Kind::Work:
    ending.run(*command.work);
    break;
  case Kind::Record:
    command.event->pass(command.point);
    break;
  case Kind::Wait:
    command.event->wait(command.point, ending);
    break;
  case Kind::Spoil:
    if (!ending.reached())
      std::memset(command.data, 0xff, command.bytes);
    break;
  case Kind::Stop:
    break;
  }
}

} // namespace tandem
