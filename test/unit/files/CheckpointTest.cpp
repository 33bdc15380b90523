#include "runtime/files/checkpoint/Checkpoint.h"

#include "runtime/files/Checksum.h"
#include "test/unit/files/CheckpointSketch.h"
#include "test/unit/files/TestFiles.h"

namespace tandem {
namespace {

using test::Folder;

TEST(ChecksumTest, IsXxh3) {
  // The specification's sanity values of XXH3_64bits without a seed.
  EXPECT_EQ(checksumOf("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(checksumText(checksumOf("", 0)), "2d06800538d394c2");
  Checksum parts;
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    std::string piece(static_cast<size_t>(i % 37), static_cast<char>(i));
    parts.add(piece.data(), piece.size());
    text += piece;
  }
  EXPECT_EQ(parts.value(), checksumOf(text));
  parts.reset();
  EXPECT_EQ(parts.value(), checksumOf(""));
}

TEST(BoxTest, Intersections) {
  Box a{{0, 2}, {3, 4}}, b{{2, 0}, {5, 3}};
  EXPECT_EQ(*intersection(a, b), (Box{{2, 2}, {1, 1}}));
  EXPECT_FALSE(intersection(a, Box{{3, 0}, {1, 9}}));
  EXPECT_FALSE(intersection(a, Box{{0, 2}, {3, 0}}));
  EXPECT_TRUE(intersection(Box{}, Box{})); // Scalars.
}

TEST(BoxTest, Tilings) {
  ASSERT_OK(checkTiling({4, 2}, {{{0, 0}, {3, 2}}, {{3, 0}, {1, 2}}}));
  ASSERT_OK(checkTiling({}, {{{}, {}}}));
  ASSERT_OK(checkTiling({0, 5}, {}));
  test::expectRefusal(checkTiling({4, 2}, {{{0, 0}, {3, 2}}}),
                      "its pieces hold 6 of its 8 elements");
  test::expectRefusal(
      checkTiling({4, 2}, {{{2, 0}, {2, 2}}, {{0, 0}, {3, 2}}}),
      "the pieces [3, 2] at [0, 0] and [2, 2] at [2, 0] overlap");
  test::expectRefusal(checkTiling({4}, {{{2}, {3}}}),
                      "the piece [3] at [2] is not within the tensor's shape "
                      "[4]");
  test::expectRefusal(checkTiling({}, {{{}, {}}, {{}, {}}}), "overlap");
}

/// One whole checkpoint in a folder.
class CheckpointTest : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(path);
    CheckpointManifest manifest = test::sketchManifest(5);
    auto shards = test::writeShards(realDisk(), path, 5);
    ASSERT_OK(shards);
    manifest.shards = *shards;
    write(manifest);
  }

  void write(const CheckpointManifest &manifest) {
    folder.write("step-5/manifest.json", manifest.toText());
  }
  void change(const std::string &file, const std::string &from,
              const std::string &to) {
    std::string text = test::readWhole(path + "/" + file);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    folder.write("step-5/" + file, text.replace(at, from.size(), to));
  }
  /// Changes the manifest and gives it its checksum anew.
  void changeSealed(const std::function<void(CheckpointManifest &)> &change) {
    auto manifest = CheckpointManifest::read(path);
    ASSERT_OK(manifest);
    change(*manifest);
    write(*manifest);
  }
  Status opened() const {
    auto checkpoint = Checkpoint::open(path);
    return checkpoint.ok() ? (*checkpoint)->checkAll() : checkpoint.status();
  }

  Folder folder;
  std::string path = folder / "step-5";
};

TEST_F(CheckpointTest, ManifestComesBack) {
  auto manifest = CheckpointManifest::read(path);
  ASSERT_OK(manifest);
  EXPECT_EQ(manifest->step, 5);
  EXPECT_EQ(manifest->mesh, "tp=2");
  EXPECT_EQ(manifest->training["position"], 35);
  ASSERT_EQ(manifest->tensors.size(), 2u);
  EXPECT_EQ(manifest->find("w")->stored->strides, (std::vector<int64_t>{2, 1}));
  EXPECT_FALSE(manifest->find("s")->stored);
  EXPECT_EQ(manifest->find("x"), nullptr);
  EXPECT_EQ(manifest->toText(), test::readWhole(path + "/manifest.json"));
  ASSERT_OK(opened());
}

TEST_F(CheckpointTest, AnyBoxIsRead) {
  auto checkpoint = Checkpoint::open(path);
  ASSERT_OK(checkpoint);
  const CheckpointTensor &w = *(*checkpoint)->manifest().find("w");
  // Rows 1 to 3 of column 1, into every third element.
  float out[7] = {-1, -1, -1, -1, -1, -1, -1};
  ASSERT_OK((*checkpoint)
                ->read(w, {{1, 1}, {3, 1}}, DType::F32,
                       reinterpret_cast<std::byte *>(out), {3, 1}));
  EXPECT_EQ(std::vector<float>(out, out + 7),
            (std::vector<float>{3, -1, -1, 5, -1, -1, 7}));
}

TEST_F(CheckpointTest, EveryFlippedBitIsFound) {
  for (const char *file :
       {"rank-0.safetensors", "rank-1.safetensors", "manifest.json"}) {
    std::string whole = test::readWhole(path + "/" + file);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      folder.write(std::string("step-5/") + file, flipped);
      test::expectRefusal(opened(), path + "/" + file);
    }
    folder.write(std::string("step-5/") + file, whole);
  }
  ASSERT_OK(opened());
}

TEST_F(CheckpointTest, DamageNamesTheTensor) {
  std::string bytes = test::readWhole(path + "/rank-1.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder.write("step-5/rank-1.safetensors", bytes);
  test::expectRefusal(opened(), "rank-1.safetensors: tensor 'w': its checksum");
  test::expectRefusal(opened(), "changed after they were written");
  change("rank-0.safetensors", "F32", "I32");
  test::expectRefusal(opened(), "rank-0.safetensors: header: its checksum");
}

TEST_F(CheckpointTest, CutFilesAreNamed) {
  std::string bytes = test::readWhole(path + "/rank-1.safetensors");
  folder.write("step-5/rank-1.safetensors", bytes.substr(0, 60));
  test::expectRefusal(opened(), "rank-1.safetensors' has 60 bytes, expected " +
                                    std::to_string(bytes.size()));
  std::filesystem::remove(path + "/rank-1.safetensors");
  test::expectRefusal(opened(), "rank-1.safetensors' is missing");
  std::string manifest = test::readWhole(path + "/manifest.json");
  folder.write("step-5/manifest.json", manifest.substr(0, 200));
  test::expectRefusal(opened(), "it does not end with its checksum");
}

TEST_F(CheckpointTest, ManifestsThatLieAreRefused) {
  auto shards = CheckpointManifest::read(path)->shards;
  changeSealed([](CheckpointManifest &m) { m.shards[1].pieces.clear(); });
  test::expectRefusal(opened(), "tensor 'w': its pieces hold 4 of its 8");
  auto changePiece = [&](const char *tensor, Box box) {
    CheckpointManifest manifest = test::sketchManifest(5);
    manifest.shards = shards;
    manifest.shards[1].pieces[0].tensor = tensor;
    manifest.shards[1].pieces[0].box = std::move(box);
    write(manifest);
  };
  changePiece("v", {{2, 0}, {2, 2}});
  test::expectRefusal(opened(), "holds 'v', which is no tensor");
  changePiece("w", {{1, 0}, {2, 2}});
  test::expectRefusal(opened(), "overlap");
  changePiece("w", {{2, 0}, {3, 2}});
  test::expectRefusal(opened(), "not within the tensor's shape [4, 2]");
}

TEST_F(CheckpointTest, ShardsThatAreNotAsToldAreRefused) {
  changeSealed([](CheckpointManifest &m) {
    m.tensors[1].shape = {4};
    m.shards[0].pieces[1].box.shape = {4};
  });
  test::expectRefusal(opened(), "tensor 's': expected f32[4], got f32[3]");
  changeSealed([](CheckpointManifest &m) {
    m.tensors.pop_back();
    m.shards[0].pieces.pop_back();
  });
  test::expectRefusal(opened(), "it holds 2 tensors, expected 1");
}

TEST_F(CheckpointTest, OtherVersionsAreNamed) {
  std::string text = test::readWhole(path + "/manifest.json");
  text = text.substr(0, text.rfind(",\n \"checksum\""));
  auto seal = [&](const std::string &from, const std::string &to) {
    std::string body = text;
    body.replace(body.find(from), from.size(), to);
    folder.write("step-5/manifest.json", body + ",\n \"checksum\": \"" +
                                             checksumText(checksumOf(body)) +
                                             "\"\n}\n");
  };
  seal("\"version\": 1", "\"version\": 2");
  test::expectRefusal(opened(), "the checkpoint is of version 2, this program "
                                "reads version 1");
  seal("tandem-checkpoint", "something");
  test::expectRefusal(opened(), "this is no checkpoint's manifest: its format "
                                "is 'something'");
}

TEST_F(CheckpointTest, ManifestsOfWrongValuesAreRefused) {
  using Change = std::function<void(CheckpointManifest &)>;
  const std::pair<Change, const char *> cases[] = {
      {[](auto &m) { m.tensors[0].stored->strides = {2}; },
       "expected a stride for each of the 2 dimensions"},
      {[](auto &m) { m.tensors[0].stored->strides = {-2, 1}; },
       "a stride is negative"},
      {[](auto &m) { m.tensors[0].stored->offset = 1; },
       "the view leaves the stored tensor"},
      {[](auto &m) { m.tensors.push_back(m.tensors[0]); },
       "tensor 'w': it is there twice"},
      {[](auto &m) { m.tensors[1].shape = {int64_t(1) << 62}; }, "cannot be"},
      {[](auto &m) { m.shards[0].file = "../x"; },
       "'../x' is no file name of this folder"},
  };
  CheckpointManifest good = *CheckpointManifest::read(path);
  for (const auto &[change, message] : cases) {
    CheckpointManifest manifest = good;
    change(manifest);
    write(manifest);
    test::expectRefusal(opened(), message);
  }
}

} // namespace
} // namespace tandem
