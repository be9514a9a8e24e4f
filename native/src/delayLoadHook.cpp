// On Windows the N-API functions are imported from node.exe; in Electron and in a packaged app the program that holds
// them has another name, so the import is bound to whatever program this process runs.
#ifdef _WIN32

#include <windows.h>

#include <delayimp.h>
#include <string.h>

static FARPROC WINAPI bindToHost(unsigned int event, DelayLoadInfo* info) {
  if (event != dliNotePreLoadLibrary || _stricmp(info->szDll, "node.exe") != 0) return nullptr;
  return reinterpret_cast<FARPROC>(GetModuleHandleW(nullptr));
}

extern "C" const PfnDliHook __pfnDliNotifyHook2 = bindToHost;

#endif
