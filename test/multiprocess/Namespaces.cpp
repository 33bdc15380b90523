#include "Namespaces.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace tandem {
namespace {

const char agentScript[] = R"(#!/bin/sh
host=$1
shift
exec ip netns exec ns-of-$host unshare --uts sh -c "hostname $host; $*"
)";

} // namespace

Namespaces::Namespaces(bool controlFirst) {
  std::string base = "tandem" + std::to_string(getpid());
  first = base + "a", second = base + "b";
  bool made =
      run("ip netns add ns-of-" + first) &&
      run("ip netns add ns-of-" + second) &&
      run("unshare --uts hostname " + first) &&
      addLink(controlFirst ? "control" : "data", controlFirst ? 2 : 1) &&
      addLink(controlFirst ? "data" : "control", controlFirst ? 1 : 2);
  for (const std::string &host : {first, second})
    made = made && run("ip -n ns-of-" + host + " link set lo up");
  char name[] = "/tmp/tandem-agent-XXXXXX";
  close(mkstemp(name));
  agent = name;
  std::ofstream(agent) << agentScript;
  made = made && run("chmod +x " + agent);
  if (!made)
    missing_ = "network namespaces may not be made here";
}

Namespaces::~Namespaces() {
  for (const std::string &host : {first, second})
    run("ip netns del ns-of-" + host);
  unlink(agent.c_str());
}

bool Namespaces::run(const std::string &command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

bool Namespaces::addLink(const std::string &name, int subnet) {
  const std::string one = "ns-of-" + first, two = "ns-of-" + second;
  const std::string net = "10.77." + std::to_string(subnet) + ".";
  return run("ip link add " + name + " netns " + one + " type veth peer name " +
             name + " netns " + two) &&
         run("ip -n " + one + " addr add " + net + "1/24 dev " + name) &&
         run("ip -n " + two + " addr add " + net + "2/24 dev " + name) &&
         run("ip -n " + one + " link set " + name + " up") &&
         run("ip -n " + two + " link set " + name + " up");
}

std::vector<std::string> Namespaces::launcher(bool byNode) const {
  const std::string script = "hostname \"$0\"; exec \"$@\"";
  return {"ip",
          "netns",
          "exec",
          "ns-of-" + first,
          "unshare",
          "--uts",
          "sh",
          "-c",
          script,
          first,
          "mpirun",
          "--host",
          first + ":2," + second + ":2",
          "--map-by",
          byNode ? "node" : "slot",
          "--allow-run-as-root",
          "--oversubscribe",
          "--mca",
          "plm_rsh_agent",
          agent,
          "--mca",
          "pml",
          "ob1",
          "--mca",
          "btl",
          "self,vader,tcp",
          "--mca",
          "btl_tcp_if_include",
          "10.77.1.0/24",
          "--mca",
          "oob_tcp_if_include",
          "10.77.2.0/24"};
}

void Namespaces::cutDataLink() {
  run("ip -n ns-of-" + first + " link set data down");
}

} // namespace tandem
