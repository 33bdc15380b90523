//===- BytePairs.h - A vocabulary and the merges that reach it --*- C++ -*-===//
//
// Byte-pair encoding: a word starts as single symbols; of all neighbours that
// a merge joins, those of the lowest rank (the leftmost, if several) become
// one symbol, until no merge applies.
//
//   ranks: 0 (h, e)  1 (l, l)  2 (he, ll)
//   h e l l o  ->  he l l o  ->  he ll o  ->  hell o
//
// Symbols are bytes (byte-level) or code points. SentencePiece's vocabularies
// have scores instead of merges: any two neighbours may join whose texts
// together are a token, the highest score first. Written out as merges, one
// for each way to cut each token in two, that is the same thing.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_BYTEPAIRS_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_BYTEPAIRS_H

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tandem {

class BytePairs {
public:
  struct Options {
    /// Symbols are bytes, else code points.
    bool byteLevel = false;
    /// A word that is a token is that token, whatever the merges make of it.
    bool ignoreMerges = false;
    /// Unknown neighbours are one unknown token together.
    bool fuseUnknown = false;
    std::optional<int32_t> unknownId;
  };
  explicit BytePairs(Options options);

  /// Adds the token `id` that stands for `symbols` (bytes of the text itself,
  /// not of an alphabet). The first of several with the same symbols counts.
  void addToken(int32_t id, std::string_view symbols);
  /// Gives `byte` the token `id`, for code points that have none.
  void addByte(unsigned char byte, int32_t id);
  /// Adds a merge; its rank is the number of merges added before.
  void addMerge(int32_t left, int32_t right, int32_t merged);
  /// Adds the merges that scores stand for. Call it after all tokens.
  void addMergesByScore(const std::vector<double> &scores);

  /// Appends the ids of `word` (UTF-8 unless byte-level). Time grows as
  /// n log n with its length. What has no token is spelled in byte tokens,
  /// else is the unknown token, else is left out.
  void encode(std::string_view word, std::vector<int32_t> &ids) const;

private:
  struct Merge {
    int32_t rank, id;
  };
  /// A symbol of a word in progress; `previous` and `next` are positions.
  struct Symbol {
    int32_t id, previous, next;
  };
  /// A merge that was possible when it was queued.
  struct Candidate {
    int32_t rank, position, left, right, merged;
    bool operator<(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };

  const Merge *find(int32_t left, int32_t right) const;
  std::vector<Symbol> symbolsOf(std::string_view word) const;
  void queue(const std::vector<Symbol> &symbols, int32_t position,
             std::vector<Candidate> &heap) const;
  void join(std::vector<Symbol> &symbols) const;
  void spell(int32_t symbol, std::vector<int32_t> &ids) const;

  Options options_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::array<int32_t, 256> bytes_;
  int32_t nextRank_ = 0;
  /// Code points that are no token but part of one, and what is unknown, have
  /// symbols of their own: below -1, the position here.
  std::vector<std::string> extra_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_BYTEPAIRS_H
