#include "runtime/session/ShardWriter.h"

#include "runtime/comm/control/CrashHandler.h"
#include "runtime/files/Checksum.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/session/CheckpointShards.h"

#include <algorithm>
#include <cstring>

namespace tandem {
namespace {

/// Appends to a file and keeps the checksum of what came since the last
/// `cut`. Short rows are gathered; long ones go from where they are.
class SummedFile {
public:
  explicit SummedFile(DiskFile &file) : file(file) { rows.reserve(kGathered); }

  Status write(const void *data, uint64_t size) {
    const char *bytes = static_cast<const char *>(data);
    if (rows.size() + size > kGathered)
      TANDEM_TRY(flush());
    if (size <= kGathered / 4) {
      rows.append(bytes, size);
      return Status();
    }
    // Each part is still in the cache when it is written.
    for (uint64_t at = 0; at < size; at += kGathered)
      TANDEM_TRY(pass(bytes + at, std::min(kGathered, size - at)));
    return Status();
  }

  Result<uint64_t> cut() {
    TANDEM_TRY(flush());
    uint64_t value = sum.value();
    sum.reset();
    return value;
  }

private:
  static constexpr uint64_t kGathered = 1 << 20;

  Status flush() {
    TANDEM_TRY(pass(rows.data(), rows.size()));
    rows.clear();
    return Status();
  }
  Status pass(const char *data, uint64_t size) {
    sum.add(data, size);
    return size == 0 ? Status() : file.write(data, size);
  }

  DiskFile &file;
  std::string rows;
  Checksum sum;
};

/// Writes the valid part of a rank's piece, dense.
Status writePiece(const TensorArg &piece, SummedFile &file) {
  // The trailing dimensions without padding are one row.
  size_t outer = piece.dims.size();
  int64_t row = 1;
  while (outer > 0 &&
         piece.dims[outer - 1].valid == piece.dims[outer - 1].capacity)
    row *= piece.dims[--outer].capacity;
  int64_t step = row;
  if (outer > 0)
    row *= piece.dims[--outer].valid, step *= piece.dims[outer].capacity;
  std::vector<int64_t> index(outer, 0);
  for (;;) {
    int64_t at = 0;
    for (size_t d = 0; d < outer; ++d)
      at = at * piece.dims[d].capacity + index[d];
    int64_t size = blockBytes(piece.dtype);
    TANDEM_TRY(file.write(piece.data + at * step * size,
                          static_cast<uint64_t>(row * size)));
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == piece.dims[d - 1].valid)
      index[--d] = 0;
    if (d == 0)
      return Status();
  }
}

} // namespace

ShardWriter::ShardWriter(const Plan &plan, const Executor &executor,
                         const FaultPoint &fault, double deadlineSeconds)
    : plan(plan), executor(executor),
      thread(executor.rank(), "shard", fault, deadlineSeconds) {}

Status ShardWriter::begin(const std::string &folder) {
  std::string path =
      folder + "/rank-" + std::to_string(executor.rank()) + ".safetensors";
  return thread.begin(
      path, [this, path](WatchedDisk &disk) { return write(path, disk); });
}

RankReply ShardWriter::write(const std::string &path, WatchedDisk &disk) {
  setCrashActivity(executor.rank(), "checkpoint", path.c_str());
  std::vector<HeldPiece> pieces = ownedPieces(plan, executor);
  if (pieces.empty())
    return std::string("null");
  std::vector<TensorHeader> headers;
  for (const HeldPiece &piece : pieces)
    headers.push_back({piece.tensor.name, piece.tensor.dtype, piece.box.shape});
  Result<SafetensorsLayout> layout = layOutSafetensors(std::move(headers));
  if (!layout.ok())
    return layout.status().withContext(path);
  std::sort(pieces.begin(), pieces.end(),
            [&](const HeldPiece &a, const HeldPiece &b) {
              const auto &first = layout->places[a.tensor.name];
              const auto &second = layout->places[b.tensor.name];
              return std::tie(first.offset, first.size, a.tensor.name) <
                     std::tie(second.offset, second.size, b.tensor.name);
            });

  CheckpointShard shard;
  shard.file = path.substr(path.rfind('/') + 1);
  shard.bytes = layout->bytes;
  TANDEM_ASSIGN(std::unique_ptr<DiskFile> file, disk.create(path));
  SummedFile summed(*file);
  TANDEM_TRY(summed.write(layout->head.data(), layout->head.size()));
  TANDEM_ASSIGN(shard.headerChecksum, summed.cut());
  for (const HeldPiece &piece : pieces) {
    TANDEM_TRY(writePiece(piece.place, summed));
    TANDEM_ASSIGN(uint64_t checksum, summed.cut());
    shard.pieces.push_back({piece.tensor.name, piece.box, checksum});
  }
  thread.setRead();
  TANDEM_TRY(file->sync());
  return toJson(shard).dump();
}

} // namespace tandem
