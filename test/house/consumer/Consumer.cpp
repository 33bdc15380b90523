// A program outside Tandem that uses the installed runtime.

#include "runtime/mesh/Mesh.h"
#include "runtime/session/Session.h"

#include <iostream>

int main() {
  auto mesh = tandem::Mesh::parse("pp=2,tp=3");
  auto plan = tandem::Plan::load("no such plan");
  if (!mesh.ok() || plan.ok())
    return 1;
  std::cout << mesh->numRanks() << " ranks\n";
  return 0;
}
