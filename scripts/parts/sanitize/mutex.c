// Tells ThreadSanitizer which order Synchronization.Mutex guarantees when a thread has to wait for it. ThreadSanitizer sees the
// fast path, which is compiled into the program. The slow path is in libswiftSynchronization.so, which is not instrumented.
// Without this file, everything that a contended mutex guards would be reported as a race. Load it with LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// Absent in the programs without ThreadSanitizer that the tests start.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

// Methods of _MutexHandle as of Swift 6.3; the fast path is an atomic at the same address.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SELF __attribute__((swift_context)) void *self

typedef __attribute__((swiftcall)) void Lock(uint32_t thread, SELF);
typedef __attribute__((swiftcall)) void Unlock(SELF);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) asm(LOCK);
__attribute__((swiftcall)) void unlock_slow(SELF) asm(UNLOCK);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) {
  ((Lock *)dlsym(RTLD_NEXT, LOCK))(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

__attribute__((swiftcall)) void unlock_slow(SELF) {
  if (__tsan_release) __tsan_release(self);
  ((Unlock *)dlsym(RTLD_NEXT, UNLOCK))(self);
}
