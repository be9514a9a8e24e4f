#include "hugePages.h"

#ifdef __linux__
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#endif

namespace roomful {

#ifdef __linux__

namespace {

constexpr uint64_t kLeastBytes = 32u << 20;
constexpr uint64_t kHugePage = 2u << 20;
/** Since Linux 6.1; the headers of older systems lack it. */
constexpr int kCollapse = 25;

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/** Anonymous and writable, and so large that it can only be weights. */
bool isLarge(const Mapping& mapping, const char* permissions, unsigned long inode) {
  return permissions[0] == 'r' && permissions[1] == 'w' && permissions[3] == 'p' && inode == 0 &&
         mapping.end - mapping.begin >= kLeastBytes;
}

void collapse(const Mapping& mapping) {
  const uint64_t begin = (mapping.begin + kHugePage - 1) / kHugePage * kHugePage;
  const uint64_t bytes = (mapping.end - begin) / kHugePage * kHugePage;
  void* const address = reinterpret_cast<void*>(begin);
  // Pages of 4 KiB do as well, so what comes of it does not matter.
  if (madvise(address, bytes, MADV_HUGEPAGE) == 0) madvise(address, bytes, kCollapse);
}

}  // namespace

void useHugePages() {
  std::ifstream maps("/proc/self/smaps");
  Mapping large;
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    char permissions[5] = {};
    unsigned long inode = 0;
    unsigned long residentKiB = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*x %*s %lu", &mapping.begin, &mapping.end, permissions, &inode) == 4) {
      large = isLarge(mapping, permissions, inode) ? mapping : Mapping{};
    } else if (large.end > 0 && std::sscanf(line.c_str(), "Rss: %lu kB", &residentKiB) == 1) {
      // What is reserved but not used would be filled.
      if (residentKiB * 1024 >= (large.end - large.begin) / 10 * 9) collapse(large);
      large = {};
    }
  }
}

#else

void useHugePages() {}

#endif

}  // namespace roomful
