//===- Namespaces.h - Two hosts and the links between them ------*- C++ -*-===//
//
// Two network namespaces with host names of their own, joined by two virtual
// links: one for MPI's data, one for mpirun's control. The data link can be
// taken down.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_MULTIPROCESS_NAMESPACES_H
#define TANDEM_TEST_MULTIPROCESS_NAMESPACES_H

#include <string>
#include <vector>

namespace tandem {

class Namespaces {
public:
  /// Tandem's own connections take the link that was made first.
  explicit Namespaces(bool controlFirst);
  ~Namespaces();

  /// Empty, or why there is none: namespaces may not be made here.
  const std::string &missing() const { return missing_; }
  /// mpirun with two ranks on either host: 0 and 1 on the first, or, `byNode`,
  /// 0 and 2.
  std::vector<std::string> launcher(bool byNode) const;
  void cutDataLink();

private:
  bool run(const std::string &command);
  bool addLink(const std::string &name, int subnet);

  std::string first, second; ///< Host names.
  std::string agent;         ///< What mpirun starts its daemon with.
  std::string missing_;
};

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_NAMESPACES_H
