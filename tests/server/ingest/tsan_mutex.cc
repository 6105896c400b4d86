// SPDX-License-Identifier: Apache-2.0
//
// Debian's Abseil is not built with ThreadSanitizer, which therefore sees neither its mutexes nor its notifications and
// takes whatever they protect for a race. Linked into a test of a build with -fsanitize=thread, these stand before the
// library's functions and tell the sanitizer what they order: what came before an unlock, a wait or a notification
// happens before what follows the next lock or wake-up.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

// Statuses count their references in that library too.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libabsl_status.so\n"; }

namespace {

template <typename Function>
Function* Real(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, symbol));
}

#define STEPCURVE_REAL(name, symbol, ...)                 \
  using name##Fn = __VA_ARGS__;                           \
  name##Fn* name() {                                      \
    static name##Fn* const real = Real<name##Fn>(symbol); \
    return real;                                          \
  }

STEPCURVE_REAL(RealLock, "_ZN4absl7debian35Mutex4LockEv", void(absl::Mutex*))
STEPCURVE_REAL(RealUnlock, "_ZN4absl7debian35Mutex6UnlockEv", void(absl::Mutex*))
STEPCURVE_REAL(RealAwait, "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE", void(absl::Mutex*, const absl::Condition&))
STEPCURVE_REAL(RealAwaitFor, "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
               bool(absl::Mutex*, const absl::Condition&, absl::Duration))
STEPCURVE_REAL(RealWaitFor, "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE",
               bool(absl::CondVar*, absl::Mutex*, absl::Duration))
STEPCURVE_REAL(RealNotify, "_ZN4absl7debian312Notification6NotifyEv", void(absl::Notification*))
STEPCURVE_REAL(RealWaitForNotification, "_ZNK4absl7debian312Notification19WaitForNotificationEv",
               void(const absl::Notification*))
STEPCURVE_REAL(RealWaitForNotificationFor,
               "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
               bool(const absl::Notification*, absl::Duration))

void Acquire(const void* object) { __tsan_acquire(const_cast<void*>(object)); }
void Release(const void* object) { __tsan_release(const_cast<void*>(object)); }

// A condition as its waiter gave it; whoever holds the mutex evaluates it.
struct Waited {
  const void* mutex;
  const absl::Condition* condition;
  bool Holds() const {
    Acquire(mutex);
    const bool holds = condition->Eval();
    Release(mutex);
    return holds;
  }
};

}  // namespace

void absl::Mutex::Lock() {
  RealLock()(this);
  Acquire(this);
}

void absl::Mutex::Unlock() {
  Release(this);
  RealUnlock()(this);
}

void absl::Mutex::Await(const Condition& condition) {
  Release(this);
  const Waited waited{this, &condition};
  RealAwait()(this, Condition(&waited, &Waited::Holds));
  Acquire(this);
}

bool absl::Mutex::AwaitWithTimeout(const Condition& condition, absl::Duration timeout) {
  Release(this);
  const Waited waited{this, &condition};
  const bool fulfilled = RealAwaitFor()(this, Condition(&waited, &Waited::Holds), timeout);
  Acquire(this);
  return fulfilled;
}

bool absl::CondVar::WaitWithTimeout(Mutex* mutex, absl::Duration timeout) {
  Release(mutex);
  const bool timed_out = RealWaitFor()(this, mutex, timeout);
  Acquire(mutex);
  return timed_out;
}

void absl::Notification::Notify() {
  Release(this);
  RealNotify()(this);
}

void absl::Notification::WaitForNotification() const {
  RealWaitForNotification()(this);
  Acquire(this);
}

bool absl::Notification::WaitForNotificationWithTimeout(absl::Duration timeout) const {
  const bool notified = RealWaitForNotificationFor()(this, timeout);
  Acquire(this);
  return notified;
}
