#include "parentWatch.h"

#include <chrono>
#include <thread>

#ifdef _WIN32
#include <windows.h>
#else
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#endif

namespace roomful {

#ifdef _WIN32

void exitWithParent(int64_t parent) {
  HANDLE handle = OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(parent));
  if (!handle) {
    TerminateProcess(GetCurrentProcess(), 1);
    return;
  }
  std::thread([handle] {
    WaitForSingleObject(handle, INFINITE);
    TerminateProcess(GetCurrentProcess(), 1);
  }).detach();
}

#else

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);

/** SIGKILL rather than exit: destructors of a driver that hangs would keep the process alive. */
void endNow() { kill(getpid(), SIGKILL); }

bool isGone(pid_t parent, bool isDirectParent) {
  // An orphan gets another parent; a process that is not our parent (Electron's zygote forked us) is asked for by id.
  if (isDirectParent) return getppid() != parent;
  return kill(parent, 0) != 0 && errno == ESRCH;
}

}  // namespace

void exitWithParent(int64_t parent) {
  const auto pid = static_cast<pid_t>(parent);
  const bool isDirectParent = getppid() == pid;
#ifdef __linux__
  if (isDirectParent) prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  // Asked after prctl: a parent that died in between sent no signal.
  if (isGone(pid, isDirectParent)) endNow();
  std::thread([pid, isDirectParent] {
    while (!isGone(pid, isDirectParent)) std::this_thread::sleep_for(kPollInterval);
    endNow();
  }).detach();
}

#endif

}  // namespace roomful
