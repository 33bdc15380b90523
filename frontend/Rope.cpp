#include "frontend/Rope.h"

#include "runtime/base/Suggest.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

//===----------------------------------------------------------------------===//
// Frequencies
//===----------------------------------------------------------------------===//

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

/// The pair, a fraction perhaps, that turns `turns` times in the original
/// context.
double pairOfTurns(double turns, const RopeBase &base,
                   const RopeScaling &scaling) {
  return static_cast<double>(base.dim) *
         std::log(scaling.originalLength / (turns * kTwoPi)) /
         (2 * std::log(base.theta));
}

std::vector<double> yarnScaled(std::vector<double> frequencies,
                               const RopeBase &base,
                               const RopeScaling &scaling) {
  double low = pairOfTurns(scaling.betaFast, base, scaling);
  double high = pairOfTurns(scaling.betaSlow, base, scaling);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(base.dim - 1));
  if (low == high)
    high += 0.001;
  for (size_t j = 0; j < frequencies.size(); ++j) {
    double ramp = (static_cast<double>(j) - low) / (high - low);
    ramp = std::min(1.0, std::max(0.0, ramp));
    frequencies[j] *= (1 - ramp) + ramp / scaling.factor;
  }
  return frequencies;
}

/// How much yarn's sine and cosine grow.
double yarnAmplitude(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

//===----------------------------------------------------------------------===//
// config.json
//===----------------------------------------------------------------------===//

constexpr const char *kOriginal = "original_max_position_embeddings";

Result<double> positive(const ConfigNode &node, const std::string &key) {
  TANDEM_ASSIGN(ConfigNode value, node.at(key));
  TANDEM_ASSIGN(double number, value.asNumber());
  if (!(number > 0) || !std::isfinite(number))
    return value.error("expected a number above 0");
  return number;
}

Result<double> positiveOr(const ConfigNode &node, const std::string &key,
                          double otherwise) {
  return node.has(key) ? positive(node, key) : otherwise;
}

/// One object of scaling and the configuration around it.
class ScalingReader {
public:
  ScalingReader(const ConfigNode &config, const ConfigNode &node,
                const RopeBase &base)
      : config_(config), node_(node), base_(base) {}

  Result<RopeScaling> read();

private:
  Status checkKeys() const;
  /// The context that the model was trained with, wherever it stands.
  Result<double> original(bool required) const;
  Status readLlama3();
  Status readYarn();
  Status readLongRope();
  Status readDynamic();

  const ConfigNode &config_, &node_;
  const RopeBase &base_;
  RopeScaling scaling_;
};

Status ScalingReader::checkKeys() const {
  static const std::vector<std::string> known = {
      "rope_type",        "type",
      "rope_theta",       "partial_rotary_factor",
      "factor",           "low_freq_factor",
      "high_freq_factor", kOriginal,
      "attention_factor", "beta_fast",
      "beta_slow",        "mscale",
      "mscale_all_dim",   "truncate",
      "short_factor",     "long_factor",
      "finetuned"};
  for (const std::string &key : node_.keys())
    if (node_.has(key) &&
        std::find(known.begin(), known.end(), key) == known.end())
      return node_.error("unknown setting '" + key + "'" +
                         didYouMean(key, known));
  return Status();
}

Result<double> ScalingReader::original(bool required) const {
  const ConfigNode &holder = node_.has(kOriginal) ? node_ : config_;
  if (!required && !holder.has(kOriginal))
    return static_cast<double>(base_.maxPosition);
  return positive(holder, kOriginal);
}

Status ScalingReader::readLlama3() {
  TANDEM_ASSIGN(scaling_.factor, positive(node_, "factor"));
  TANDEM_ASSIGN(scaling_.lowFactor, positive(node_, "low_freq_factor"));
  TANDEM_ASSIGN(scaling_.highFactor, positive(node_, "high_freq_factor"));
  TANDEM_ASSIGN(scaling_.originalLength, original(true));
  if (scaling_.highFactor <= scaling_.lowFactor)
    return node_.error("high_freq_factor must exceed low_freq_factor");
  return Status();
}

Status ScalingReader::readYarn() {
  TANDEM_ASSIGN(scaling_.factor, positive(node_, "factor"));
  TANDEM_ASSIGN(scaling_.originalLength, original(false));
  TANDEM_ASSIGN(scaling_.betaFast, positiveOr(node_, "beta_fast", 32));
  TANDEM_ASSIGN(scaling_.betaSlow, positiveOr(node_, "beta_slow", 1));
  TANDEM_ASSIGN(scaling_.truncate, node_.booleanOr("truncate", true));
  TANDEM_ASSIGN(double own, node_.numberOr("mscale", 0));
  TANDEM_ASSIGN(double all, node_.numberOr("mscale_all_dim", 0));
  double grown = own != 0 && all != 0 ? yarnAmplitude(scaling_.factor, own) /
                                            yarnAmplitude(scaling_.factor, all)
                                      : yarnAmplitude(scaling_.factor, 1);
  TANDEM_ASSIGN(scaling_.amplitude,
                positiveOr(node_, "attention_factor", grown));
  return Status();
}

Status ScalingReader::readLongRope() {
  TANDEM_ASSIGN(scaling_.originalLength, original(true));
  double ratio =
      static_cast<double>(base_.maxPosition) / scaling_.originalLength;
  TANDEM_ASSIGN(scaling_.factor, positiveOr(node_, "factor", ratio));
  double grown = scaling_.factor <= 1
                     ? 1
                     : std::sqrt(1 + std::log(scaling_.factor) /
                                         std::log(scaling_.originalLength));
  TANDEM_ASSIGN(scaling_.amplitude,
                positiveOr(node_, "attention_factor", grown));
  TANDEM_ASSIGN(ConfigNode list, node_.at("short_factor"));
  TANDEM_ASSIGN(scaling_.divisors, list.asNumbers());
  if (scaling_.divisors.size() != static_cast<size_t>(base_.dim / 2))
    return list.error("expected one number for each of the " +
                      std::to_string(base_.dim / 2) + " pairs, got " +
                      std::to_string(scaling_.divisors.size()));
  for (double divisor : scaling_.divisors)
    if (!(divisor > 0))
      return list.error("expected numbers above 0");
  scaling_.longest = static_cast<int64_t>(scaling_.originalLength);
  return Status();
}

Status ScalingReader::readDynamic() {
  TANDEM_ASSIGN(scaling_.factor, positive(node_, "factor"));
  scaling_.longest = base_.maxPosition;
  return Status();
}

Result<RopeScaling> ScalingReader::read() {
  TANDEM_TRY(checkKeys());
  const char *key = node_.has("rope_type") ? "rope_type" : "type";
  TANDEM_ASSIGN(std::string kind, node_.stringOr(key, "default"));
  if (kind == "default") {
    TANDEM_ASSIGN(double factor, node_.numberOr("factor", 1));
    if (factor != 1)
      return node_.error("a factor means nothing with rope_type 'default'; "
                         "expected 'linear' or another kind");
    return scaling_;
  }
  if (kind == "linear") {
    scaling_.kind = RopeScaling::Linear;
    TANDEM_ASSIGN(scaling_.factor, positive(node_, "factor"));
  } else if (kind == "llama3") {
    scaling_.kind = RopeScaling::Llama3;
    TANDEM_TRY(readLlama3());
  } else if (kind == "yarn") {
    scaling_.kind = RopeScaling::Yarn;
    TANDEM_TRY(readYarn());
  } else if (kind == "longrope" || kind == "su") {
    scaling_.kind = RopeScaling::LongRope;
    TANDEM_TRY(readLongRope());
  } else if (kind == "dynamic") {
    scaling_.kind = RopeScaling::Dynamic;
    TANDEM_TRY(readDynamic());
  } else {
    return node_.error("unknown kind of rotary scaling '" + kind +
                       "'; known are: default, linear, llama3, yarn, "
                       "longrope, dynamic");
  }
  return scaling_;
}

Result<RopeScaling> readObject(const ConfigNode &config, const char *key,
                               const RopeBase &base) {
  std::optional<ConfigNode> node = config.find(key);
  if (!node)
    return RopeScaling();
  if (!node->isObject())
    return node->error("expected an object");
  return ScalingReader(config, *node, base).read();
}

} // namespace

std::vector<double> ropeFrequencies(const RopeBase &base) {
  std::vector<double> frequencies;
  for (int64_t j = 0; j < base.dim / 2; ++j)
    frequencies.push_back(
        std::pow(base.theta, -2.0 * static_cast<double>(j) /
                                 static_cast<double>(base.dim)));
  return frequencies;
}

std::vector<double> ropeFrequencies(const RopeBase &base,
                                    const RopeScaling &scaling) {
  std::vector<double> frequencies = ropeFrequencies(base);
  if (scaling.kind == RopeScaling::Yarn)
    return yarnScaled(std::move(frequencies), base, scaling);
  for (size_t j = 0; j < frequencies.size(); ++j)
    if (scaling.kind == RopeScaling::Linear)
      frequencies[j] /= scaling.factor;
    else if (scaling.kind == RopeScaling::Llama3)
      frequencies[j] = llama3Scaled(frequencies[j], scaling);
    else if (!scaling.divisors.empty())
      frequencies[j] /= scaling.divisors[j];
  return frequencies;
}

Result<RopeScaling> readRopeScaling(const ConfigNode &config,
                                    const RopeBase &base) {
  TANDEM_ASSIGN(RopeScaling scaling,
                readObject(config, "rope_parameters", base));
  TANDEM_ASSIGN(RopeScaling older, readObject(config, "rope_scaling", base));
  if (!config.has("rope_parameters"))
    return older;
  if (config.has("rope_scaling") &&
      (ropeFrequencies(base, scaling) != ropeFrequencies(base, older) ||
       scaling.amplitude != older.amplitude))
    return config.error("rope_parameters and rope_scaling disagree; expected "
                        "one of them, or the same in both");
  return scaling;
}

Result<RopeScaling> readGgufRopeScaling(const ConfigNode &metadata,
                                        const std::string &architecture,
                                        const RopeBase &base) {
  RopeScaling scaling;
  std::string prefix = architecture + ".rope.";
  std::string factor = prefix + "scaling.factor";
  // The older key has no kind beside it.
  if (!metadata.has(factor))
    factor = prefix + "scale_linear";
  TANDEM_ASSIGN(std::string kind,
                metadata.stringOr(prefix + "scaling.type",
                                  metadata.has(factor) ? "linear" : "none"));
  TANDEM_ASSIGN(double original,
                positiveOr(metadata, prefix + "scaling.original_context_length",
                           static_cast<double>(base.maxPosition)));
  scaling.originalLength = original;
  if (kind == "none" || kind == "longrope") {
    TANDEM_ASSIGN(scaling.amplitude,
                  positiveOr(metadata, prefix + "scaling.attn_factor", 1));
    return scaling;
  }
  if (kind != "linear" && kind != "yarn")
    return metadata.error(prefix +
                          "scaling.type: unknown kind of rotary "
                          "scaling '" +
                          kind + "'; known are: none, linear, yarn, longrope");
  scaling.kind = kind == "yarn" ? RopeScaling::Yarn : RopeScaling::Linear;
  TANDEM_ASSIGN(scaling.factor, positive(metadata, factor));
  if (kind == "yarn") {
    TANDEM_ASSIGN(double own,
                  positiveOr(metadata, prefix + "scaling.attn_factor", 1));
    scaling.amplitude = own * yarnAmplitude(scaling.factor, 1);
  }
  return scaling;
}

} // namespace tandem
