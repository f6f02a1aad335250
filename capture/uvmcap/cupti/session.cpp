#include "session.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#include "activities.h"
#include "driver_calls.h"
#include "layouts.h"
#include "recorder.h"
#include "settings.h"

namespace uvmcap {

namespace {

std::uint64_t cupti_clock() {
  std::uint64_t now = 0;
  cuptiGetTimestamp(&now);
  return now;
}

std::uint64_t wall_clock() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

struct Session {
  Settings settings;
  Recorder recorder;
  ParameterLayouts layouts;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::vector<FollowedCall> calls{};  // by callback id; id 0 of one that is not followed
  std::mutex flushing{};
  std::atomic<bool> counts_unified_memory{false};

  explicit Session(Settings asked)
      : settings(std::move(asked)),
        recorder(path_for(settings.out, getpid()), settings.max_bytes, settings.flush_ns, cupti_clock) {}
};

// Never destroyed: CUPTI's threads may come until the very end of the process.
std::atomic<Session*> session{nullptr};

thread_local bool in_callback = false;

std::uint32_t device_of(CUcontext context) {
  std::uint32_t device = 0;
  return context != nullptr && cuptiGetDeviceId(context, &device) == CUPTI_SUCCESS ? device : 0;
}

void on_driver_call(Session& s, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (id >= s.calls.size() || s.calls[id].id != id) return;
  const FollowedCall& followed = s.calls[id];
  const bool begins = data.callbackSite == CUPTI_API_ENTER;
  if (begins) {
    *data.correlationData = s.recorder.now();
    // The program is about to wait: what it did so far shall outlive it.
    if (followed.waits) s.recorder.flush();
  }
  const CallHandler handle = begins ? followed.at_begin : followed.at_return;
  if (handle == nullptr) return;
  SeenCall seen{s.recorder, s.layouts, data.context, data.contextUid, followed.per_thread, s.settings.has("args"), {}};
  seen.call.time = *data.correlationData;
  seen.call.thread = thread_number();
  seen.call.correlation = data.correlationId;
  seen.call.device = device_of(data.context);
  seen.call.external = top_external();
  if (!begins) seen.call.result = *static_cast<const CUresult*>(data.functionReturnValue);
  handle(seen, data.functionParams);
}

void on_resource(Session& s, CUpti_CallbackId id) {
  // A program that had initialized the driver before this library came shows only its contexts.
  const bool initialized = id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED || id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
  if (initialized && s.settings.has("um") && !s.counts_unified_memory.exchange(true)) start_unified_memory(s.recorder);
  if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) s.layouts.forget();
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  Session* s = session;
  // Asking the driver for a kernel's parameters comes back to here.
  if (s == nullptr || in_callback || !s->recorder.active()) return;
  in_callback = true;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) on_driver_call(*s, id, *static_cast<const CUpti_CallbackData*>(data));
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) on_resource(*s, id);
  in_callback = false;
}

// Takes CUPTI for this process; a process has one holder. Fills in who else has it.
CUptiResult subscribe(Session& s, std::string& holder) {
#if defined(UVMCAP_HAVE_SUBSCRIBE_V2)
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> other{};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "uvmcap";
  parameters.oldSubscriberName = other.data();
  parameters.oldSubscriberSize = other.size();
  const CUptiResult result = cuptiSubscribe_v2(&s.subscriber, on_callback, nullptr, &parameters);
  holder = other.data();
  return result;
#else
  holder.clear();
  return cuptiSubscribe(&s.subscriber, on_callback, nullptr);
#endif
}

void fail(Session& s, CUptiResult result, const std::string& holder) {
  std::string text = "CUPTI cannot be used: " + result_text(result) + " (is there an NVIDIA GPU with its driver?)";
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    text = (holder.empty() ? std::string("another profiler") : holder) +
           " already holds CUPTI in this process; run without it (nsys, ncu, torch.profiler, cuda-gdb exclude uvmcap)";
  }
  s.recorder.write(Failure{text, static_cast<int>(result), holder});
  std::fprintf(stderr, "uvmcap: nothing is recorded: %s\n", text.c_str());
  s.recorder.end();
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

void write_header(Session& s) {
  Header header;
  header.library_version = UVMCAP_VERSION;
  header.pid = getpid();
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length > 0) header.executable.assign(path.data(), static_cast<std::size_t>(length));
  header.arguments = command_line();
  header.clock = cupti_clock();
  header.wall = wall_clock();
  cuptiGetVersion(&header.cupti);
  header.cupti_built = CUPTI_API_VERSION;
  header.layouts_verified = kLayoutsVerified;
  header.kinds = s.settings.kinds;
  s.recorder.write(header);
}

void enable_callbacks(Session& s) {
  for (const FollowedCall& call : followed_calls(s.settings.kinds)) {
    if (s.calls.size() <= call.id) s.calls.resize(call.id + 1);
    s.calls[call.id] = call;
  }
  std::string refused;
  for (const FollowedCall& call : s.calls) {
    if (call.id == 0) continue;
    if (cuptiEnableCallback(1, s.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call.id) != CUPTI_SUCCESS) {
      refused += (refused.empty() ? "" : ", ") + std::to_string(call.id);
    }
  }
  // A driver older than the headers lacks the newest entry points; a program cannot call them either.
  if (!refused.empty()) s.recorder.write(Note{"driver calls not followed, by CUPTI's number: " + refused});
  for (const CUpti_CallbackId id : {CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                    CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING}) {
    cuptiEnableCallback(1, s.subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
}

// CUPTI hands over buffers when they are full; asked regularly, also those that are not.
void flush_now_and_then() {
  while (true) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(session.load()->settings.flush_ns));
    if (!session.load()->recorder.active()) return;
    flush_session();
  }
}

void finish() {
  Session& s = *session;
  const std::lock_guard lock(s.flushing);
  if (!s.recorder.active()) return;
  flush_activities(true);
  s.recorder.end();
}

void record(Session& s) {
  write_header(s);
  std::string holder;
  const CUptiResult result = subscribe(s, holder);
  if (result != CUPTI_SUCCESS) {
    fail(s, result, holder);
    return;
  }
  enable_callbacks(s);
  start_activities(s.recorder, s.settings.kinds);
  pthread_atfork(nullptr, nullptr, [] { session.load()->recorder.abandon(); });
  std::atexit(finish);
  std::thread(flush_now_and_then).detach();
}

}  // namespace

void start_session() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::vector<std::string> problems;
    Settings settings = read_settings([](const char* name) -> const char* { return std::getenv(name); }, problems);
    for (const std::string& problem : problems) std::fprintf(stderr, "uvmcap: %s\n", problem.c_str());
    session = new Session(std::move(settings));
    if (!session.load()->recorder.error().empty()) {
      std::fprintf(stderr, "uvmcap: nothing is recorded: %s\n", session.load()->recorder.error().c_str());
    } else {
      record(*session);
    }
  });
}

Recorder* session_recorder() {
  Session* s = session;
  return s == nullptr || !s->recorder.active() ? nullptr : &s->recorder;
}

void flush_session() {
  Session* s = session;
  if (s == nullptr) return;
  const std::lock_guard lock(s->flushing);
  if (!s->recorder.active()) return;
  flush_activities(false);
  s->recorder.flush();
}

}  // namespace uvmcap
