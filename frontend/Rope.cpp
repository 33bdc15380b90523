#include "frontend/Rope.h"

#include <cmath>

namespace tandem {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

Result<double> positive(const ConfigNode &node, const char *key) {
  TANDEM_ASSIGN(ConfigNode value, node.at(key));
  TANDEM_ASSIGN(double number, value.asNumber());
  if (!(number > 0) || !std::isfinite(number))
    return value.error("expected a number above 0");
  return number;
}

double llama3Scaled(double frequency, const RopeScaling &scaling) {
  double wave = kTwoPi / frequency;
  if (wave > scaling.originalLength / scaling.lowFactor)
    return frequency / scaling.factor;
  if (wave < scaling.originalLength / scaling.highFactor)
    return frequency;
  double blend = (scaling.originalLength / wave - scaling.lowFactor) /
                 (scaling.highFactor - scaling.lowFactor);
  return (1 - blend) * frequency / scaling.factor + blend * frequency;
}

Result<RopeScaling> readLlama3(const ConfigNode &config,
                               const ConfigNode &node) {
  RopeScaling scaling;
  scaling.kind = RopeScaling::Llama3;
  TANDEM_ASSIGN(scaling.factor, positive(node, "factor"));
  TANDEM_ASSIGN(scaling.lowFactor, positive(node, "low_freq_factor"));
  TANDEM_ASSIGN(scaling.highFactor, positive(node, "high_freq_factor"));
  const char *original = "original_max_position_embeddings";
  const ConfigNode &holder = node.has(original) ? node : config;
  TANDEM_ASSIGN(scaling.originalLength, positive(holder, original));
  if (scaling.highFactor <= scaling.lowFactor)
    return node.error("high_freq_factor must exceed low_freq_factor");
  return scaling;
}

Result<std::string> kindOf(const ConfigNode &node) {
  const char *key = node.has("rope_type") ? "rope_type" : "type";
  return node.stringOr(key, "default");
}

} // namespace

std::vector<double> ropeFrequencies(int64_t dim, double theta) {
  std::vector<double> frequencies;
  for (int64_t j = 0; j < dim / 2; ++j)
    frequencies.push_back(std::pow(theta, -2.0 * j / dim));
  return frequencies;
}

std::vector<double> scaled(std::vector<double> frequencies,
                           const RopeScaling &scaling) {
  for (double &frequency : frequencies)
    if (scaling.kind == RopeScaling::Linear)
      frequency /= scaling.factor;
    else if (scaling.kind == RopeScaling::Llama3)
      frequency = llama3Scaled(frequency, scaling);
  return frequencies;
}

Result<RopeScaling> readRopeScaling(const ConfigNode &config) {
  std::optional<ConfigNode> node = config.find("rope_parameters");
  if (!node)
    node = config.find("rope_scaling");
  if (!node)
    return RopeScaling();
  if (!node->isObject())
    return node->error("expected an object");
  TANDEM_ASSIGN(std::string kind, kindOf(*node));
  RopeScaling scaling;
  if (kind == "default")
    return scaling;
  if (kind == "llama3")
    return readLlama3(config, *node);
  if (kind != "linear")
    return node->error("unknown kind of rotary scaling '" + kind +
                       "'; known are: default, linear, llama3");
  scaling.kind = RopeScaling::Linear;
  TANDEM_ASSIGN(scaling.factor, positive(*node, "factor"));
  return scaling;
}

Result<RopeScaling> readGgufRopeScaling(const ConfigNode &metadata,
                                        const std::string &architecture) {
  RopeScaling scaling;
  std::string prefix = architecture + ".rope.";
  std::string factor = prefix + "scaling.factor";
  // The older key has no kind beside it.
  if (!metadata.has(factor))
    factor = prefix + "scale_linear";
  TANDEM_ASSIGN(std::string kind,
                metadata.stringOr(prefix + "scaling.type",
                                  metadata.has(factor) ? "linear" : "none"));
  if (kind == "none")
    return scaling;
  if (kind != "linear")
    return metadata.error(prefix +
                          "scaling.type: unknown kind of rotary "
                          "scaling '" +
                          kind + "'; known are: none, linear");
  scaling.kind = RopeScaling::Linear;
  TANDEM_ASSIGN(scaling.factor, positive(metadata, factor.c_str()));
  return scaling;
}

} // namespace tandem
