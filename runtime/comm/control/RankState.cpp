#include "runtime/comm/control/RankState.h"

#include <algorithm>

namespace tandem {

std::string ChannelState::place() const {
  std::string text =
      instruction.empty() ? name(meeting.call.kind) : instruction;
  return location.empty() ? text : text + " (" + location + ")";
}

const ChannelState *RankState::find(int channel) const {
  for (const ChannelState &state : channels)
    if (state.channel == channel)
      return &state;
  return nullptr;
}

const ChannelState *RankState::foremost() const {
  auto before = [](const ChannelState &a, const ChannelState &b) {
    if (a.waits() != b.waits())
      return b.waits();
    bool setUpA = a.channel == ActivityTable::setUp;
    bool setUpB = b.channel == ActivityTable::setUp;
    if (setUpA != setUpB)
      return setUpA;
    return a.waits() ? a.still < b.still : a.still > b.still;
  };
  auto found = std::max_element(channels.begin(), channels.end(), before);
  return found == channels.end() ? nullptr : &*found;
}

const ChannelState *RankState::instruction() const {
  const ChannelState *found = nullptr;
  for (const ChannelState &state : channels)
    if (state.channel != ActivityTable::setUp && !state.instruction.empty() &&
        (!found || state.still < found->still))
      found = &state;
  return found;
}

const ChannelState *RankState::place() const {
  const ChannelState *first = foremost(), *last = instruction();
  return first && first->channel == ActivityTable::setUp && last ? last : first;
}

std::string RankState::describe(int64_t rank, const char *verb) const {
  std::string text = "rank " + std::to_string(rank) + " " + verb;
  const ChannelState *state = foremost();
  if (!state)
    return text + " before its first instruction";
  text += " at " + state->place();
  if (state->waits())
    text += ", waiting for rank " + std::to_string(state->waitingFor);
  const ChannelState *last = instruction();
  if (last && state->channel == ActivityTable::setUp)
    text += ", after " + last->place();
  return text;
}

void RankState::write(FrameWriter &frame) const {
  frame.put(static_cast<uint32_t>(channels.size()));
  for (const ChannelState &state : channels)
    frame.put(state.channel)
        .put(state.instruction)
        .put(state.location)
        .put(state.waitingFor)
        .put(state.still)
        .put(state.unpolled)
        .put(state.meeting.group)
        .put(state.meeting.sequence)
        .put(state.meeting.call);
}

RankState RankState::read(FrameReader &frame) {
  RankState result;
  auto count = frame.get<uint32_t>();
  for (uint32_t i = 0; i < count && frame.ok(); ++i) {
    ChannelState state;
    state.channel = frame.get<int32_t>();
    state.instruction = frame.getText();
    state.location = frame.getText();
    state.waitingFor = frame.get<int64_t>();
    state.still = frame.get<double>();
    state.unpolled = frame.get<double>();
    state.meeting.group = frame.get<uint64_t>();
    state.meeting.sequence = frame.get<uint32_t>();
    state.meeting.call = frame.get<Call>();
    result.channels.push_back(std::move(state));
  }
  return result;
}

RankState ActivitySampler::sample(Clock::time_point now) {
  auto seconds = [&](Clock::time_point since) {
    return std::chrono::duration<double>(now - since).count();
  };
  RankState result;
  std::lock_guard<std::mutex> lock(table.strings);
  for (int channel = 0; channel < ActivityTable::channels; ++channel) {
    const ChannelActivity &row = table[channel];
    uint64_t progress = row.progress.load(std::memory_order_acquire);
    uint64_t polls = row.polls.load(std::memory_order_acquire);
    if (progress == 0)
      continue;
    Seen &last = seen[channel];
    if (progress != last.progress)
      last.moved = last.polled = now;
    if (polls != last.polls)
      last.polled = now;
    last.progress = progress, last.polls = polls;
    ChannelState state;
    state.channel = channel;
    state.instruction = row.instruction.load(std::memory_order_relaxed);
    state.location = row.location.load(std::memory_order_relaxed);
    state.waitingFor = row.waitingFor.load(std::memory_order_relaxed);
    state.still = seconds(last.moved);
    state.unpolled = seconds(last.polled);
    state.meeting = row.meeting.load();
    result.channels.push_back(std::move(state));
  }
  return result;
}

} // namespace tandem
