//===- Status.h - How every runtime function reports failure ---*- C++ -*-===//
//
// A Status is either OK or a message with the code the process should exit
// with and, once a rank is involved, where on that rank it happened:
//
//   Status readAll(const std::string &path) {
//     if (!exists(path))
//       return Status::refused("cannot open '" + path + "'");
//     return Status();
//   }
//
//   TANDEM_TRY(readAll(path));                 // leaves with the failure
//   TANDEM_ASSIGN(auto mesh, Mesh::parse(s));  // declares on success
//
// Nothing in the runtime throws across a function boundary or aborts on what
// a user typed or a file holds; asserts are for programmer error only.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_BASE_STATUS_H
#define TANDEM_RUNTIME_BASE_STATUS_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tandem {

/// What went wrong, in the order of the process's exit codes.
enum class StatusCode {
  Ok = 0,
  Refused = 1,       ///< A model, plan or data that is wrong or not accepted.
  Usage = 2,         ///< A command line that cannot be understood.
  RankFailed = 3,    ///< A rank failed, stalled or was lost.
  Interrupted = 130, ///< The user asked to stop.
};

/// OK, or a code with a message and, where known, the rank, the step, the
/// instruction and the source (MLIR) location.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  static Status refused(std::string message) {
    return Status(StatusCode::Refused, std::move(message));
  }
  static Status usage(std::string message) {
    return Status(StatusCode::Usage, std::move(message));
  }
  static Status rankFailed(std::string message) {
    return Status(StatusCode::RankFailed, std::move(message));
  }
  static Status interrupted(std::string message) {
    return Status(StatusCode::Interrupted, std::move(message));
  }

  bool ok() const { return code_ == StatusCode::Ok; }
  explicit operator bool() const = delete;
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }
  int exitCode() const { return static_cast<int>(code_); }

  /// The rank it happened on, -1 where no rank is involved.
  int64_t rank = -1;
  /// The step (call of an entry) it happened in, -1 where unknown.
  int64_t step = -1;
  /// The instruction it happened at, as `tandem inspect` prints it.
  std::string instruction;
  /// The source location the compiler recorded, such as `layers.3.mlp`.
  std::string location;

  /// Returns this status with `context` and a colon in front of its message.
  Status withContext(const std::string &context) const {
    Status result = *this;
    if (!ok())
      result.message_ = context + ": " + message_;
    return result;
  }

  /// One line: message, then rank, step, instruction and location as known.
  std::string toString() const;

private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A value or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : storage_(std::move(value)) {}
  /// `status` must not be OK.
  Result(Status status) : storage_(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(storage_); }
  /// OK when there is a value.
  Status status() const { return ok() ? Status() : std::get<Status>(storage_); }
  T &operator*() { return std::get<T>(storage_); }
  const T &operator*() const { return std::get<T>(storage_); }
  T *operator->() { return &std::get<T>(storage_); }
  const T *operator->() const { return &std::get<T>(storage_); }

private:
  std::variant<T, Status> storage_;
};

} // namespace tandem

#define TANDEM_CONCAT_IMPL(a, b) a##b
#define TANDEM_CONCAT(a, b) TANDEM_CONCAT_IMPL(a, b)

/// Evaluates a Status expression and returns it from the enclosing function
/// when it is not OK.
#define TANDEM_TRY(expression)                                                 \
  do {                                                                         \
    ::tandem::Status tandemStatus_ = (expression);                             \
    if (!tandemStatus_.ok())                                                   \
      return tandemStatus_;                                                    \
  } while (false)

/// Evaluates a Result expression; on success moves the value into
/// `declaration`, else returns its Status from the enclosing function.
#define TANDEM_ASSIGN(declaration, expression)                                 \
  TANDEM_ASSIGN_IMPL(TANDEM_CONCAT(tandemResult_, __LINE__), declaration,      \
                     expression)
#define TANDEM_ASSIGN_IMPL(result, declaration, expression)                    \
  auto result = (expression);                                                  \
  if (!result.ok())                                                            \
    return result.status();                                                    \
  declaration = std::move(*result)

#endif // TANDEM_RUNTIME_BASE_STATUS_H
