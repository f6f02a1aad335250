// libuvmevents.so: what the UVM driver tells tools about this process, raw. Preloaded into any CUDA program (root, or
// whoever may open /dev/nvidia-uvm-tools):
//
//   UVMEVENTS_OUT=run.csv.gz LD_PRELOAD=./libuvmevents.so ./program    # or run.csv
//
// Every entry that the driver fetched from the fault buffer is there, duplicates too, with the GPC and the MMU client
// (an SM) that wrote it, when, and the batch that it was serviced in. FORMAT.md says what the lines mean. Neither CUPTI
// nor an instrumented driver is needed. Source: kernel-open/nvidia-uvm/uvm_tools.c, uvm_ioctl.h and uvm_types.h of
// open-gpu-kernel-modules 580.95.05 (event entries of version 1).
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>
#include <unistd.h>

namespace {

// ioctls of /dev/nvidia-uvm-tools: the plain number, without size or direction.
constexpr unsigned long kInitEventTracker = 56, kEnableEvents = 58, kFlushEvents = 67;

struct InitEventTracker {
  std::uint64_t queue, queue_entries, control;
  std::uint8_t processor[16];
  std::uint32_t all_processors, uvm_fd, status;
};
struct EnableEvents {
  std::uint64_t types;
  std::uint32_t status;
};
struct FlushEvents {
  std::uint32_t status;
};

enum EventType : std::uint8_t {
  kMigration = 2,
  kGpuFault = 3,
  kGpuFaultReplay = 4,
  kFaultBufferOverflow = 5,
  kReadDuplicate = 7,
  kReadDuplicateInvalidate = 8,
  kThrashing = 10,
  kMapRemote = 13,
  kEviction = 14,
};
constexpr EventType kRecorded[] = {kMigration, kGpuFault,  kGpuFaultReplay, kFaultBufferOverflow,    kReadDuplicate,
                                   kThrashing, kMapRemote, kEviction,       kReadDuplicateInvalidate};

struct GpuFault {
  std::uint8_t type, fault_type, access, gpu;
  std::uint16_t gpc, client;
  std::uint64_t address, cpu_ns, gpu_ns;
  std::uint32_t batch;
  std::uint8_t client_type, padding[3];
};
struct Replay {
  std::uint8_t type, gpu, client_type, padding;
  std::uint32_t batch;
  std::uint64_t cpu_ns, gpu_ns;
};
struct Migration {
  std::uint8_t type, cause, source, destination;
  std::uint32_t padding;
  std::uint64_t address, bytes, begin_ns, end_ns, range_group, gpu_begin_ns, gpu_end_ns;
};
struct Region {  // read duplicates (after a mask of processors), remote mappings
  std::uint8_t type, source, destination, cause;
  std::uint32_t padding;
  std::uint64_t words[4];
};
union Entry {
  std::uint8_t type;
  GpuFault fault;
  Replay replay;
  Migration migration;
  Region region;
};
static_assert(sizeof(Entry) == 64);

struct Control {
  volatile std::uint32_t get_ahead, get_behind, put_ahead, put_behind;
  std::uint64_t dropped[64];
};

constexpr std::uint32_t kQueueEntries = 1U << 20;

class Recorder {
 public:
  Recorder() {
    const char* path = std::getenv("UVMEVENTS_OUT");
    if (path == nullptr) return;
    // A program that the recorded one starts must not write over its file.
    const std::string file = path;
    unsetenv("UVMEVENTS_OUT");
    is_pipe_ = file.size() > 3 && file.substr(file.size() - 3) == ".gz" && file.find('\'') == std::string::npos;
    out_ = is_pipe_ ? popen(("exec gzip -1 >'" + file + "'").c_str(), "w") : std::fopen(file.c_str(), "w");
    if (out_ == nullptr) {
      std::fprintf(stderr, "uvmevents: %s: %s\n", file.c_str(), std::strerror(errno));
      return;
    }
    std::fprintf(out_, "# uvmevents 1\n");
    std::fflush(out_);
    worker_ = std::thread([this] { run(); });
  }

  void finish() {
    // In a fork there is no thread, and the file is the parent's.
    if (out_ == nullptr || getpid() != process_) return;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    worker_.join();
    const std::lock_guard lock(mutex_);
    drain();
    std::uint64_t dropped = 0;
    if (control_ != nullptr) {
      for (const std::uint64_t each : control_->dropped) dropped += each;
    }
    std::fprintf(out_, "# end, dropped %" PRIu64 "%s\n", dropped, control_ == nullptr ? ", never attached" : "");
    is_pipe_ ? pclose(out_) : std::fclose(out_);
  }

  void mark(const char* text) {
    if (out_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    if (control_ == nullptr) attach();
    flush();
    drain();
    std::fprintf(out_, "# mark %s\n", text);
    std::fflush(out_);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (control_ == nullptr) attach();
      drain();
      wake_.wait_for(lock, std::chrono::milliseconds(control_ == nullptr ? 1 : 5));
    }
    flush();
  }

  // Events of copies and replays are queued when the GPU reports them done, which this waits for.
  void flush() {
    FlushEvents parameters{};
    if (control_ != nullptr) ioctl(tools_, kFlushEvents, &parameters);
  }

  // Finds the file through which CUDA talks to the driver, once it is there.
  void attach() {
    DIR* folder = opendir("/proc/self/fd");
    if (folder == nullptr) return;
    while (const dirent* each = readdir(folder)) {
      char target[64] = "";
      const std::string link = std::string("/proc/self/fd/") + each->d_name;
      if (readlink(link.c_str(), target, sizeof target - 1) < 0) continue;
      if (std::strcmp(target, "/dev/nvidia-uvm") == 0 && attach_to(std::atoi(each->d_name))) break;
    }
    closedir(folder);
  }

  bool attach_to(int uvm) {
    const int tools = open_tools(uvm);
    if (tools < 0) return false;
    // Kept for the next try: 64 MiB of touched pages are no work for each of them.
    static void* const queue = mapped(kQueueEntries * sizeof(Entry));
    static void* const control = mapped(sizeof(Control));
    InitEventTracker parameters{};
    parameters.queue = reinterpret_cast<std::uint64_t>(queue);
    parameters.queue_entries = kQueueEntries;
    parameters.control = reinterpret_cast<std::uint64_t>(control);
    parameters.uvm_fd = static_cast<std::uint32_t>(uvm);
    EnableEvents events{};
    for (const EventType each : kRecorded) events.types |= std::uint64_t{1} << each;
    const bool attached = ioctl(tools, kInitEventTracker, &parameters) == 0 && parameters.status == 0 &&
                          ioctl(tools, kEnableEvents, &events) == 0 && events.status == 0;
    if (!attached) {
      if (!complained_) {
        std::fprintf(out_, "# file %d: not attached: %s, status %#x and %#x\n", uvm, std::strerror(errno),
                     parameters.status, events.status);
      }
      complained_ = true;
      close(tools);
      return false;
    }
    tools_ = tools;
    queue_ = static_cast<const Entry*>(queue);
    control_ = static_cast<Control*>(control);
    return true;
  }

  // /dev/nvidia-uvm-tools is minor 1 of the driver's device; where nobody made the node, root can.
  int open_tools(int uvm) {
    const char* path = "/dev/nvidia-uvm-tools";
    int tools = open(path, O_RDWR | O_CLOEXEC);
    struct stat device {};
    if (tools < 0 && errno == ENOENT && fstat(uvm, &device) == 0) {
      mknod(path, S_IFCHR | 0666, makedev(major(device.st_rdev), 1));
      tools = open(path, O_RDWR | O_CLOEXEC);
    }
    if (tools < 0 && !complained_) std::fprintf(out_, "# %s: %s\n", path, std::strerror(errno));
    complained_ |= tools < 0;
    return tools;
  }

  static void* mapped(std::size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  }

  void drain() {
    if (control_ == nullptr) return;
    std::uint32_t get = control_->get_ahead;
    const std::uint32_t put = control_->put_behind;
    for (__sync_synchronize(); get != put; get = (get + 1) % kQueueEntries) write(queue_[get]);
    __sync_synchronize();
    control_->get_ahead = get;
    control_->get_behind = get;
  }

  void write(const Entry& entry) {
    switch (entry.type) {
      case kGpuFault: {
        const GpuFault& fault = entry.fault;
        std::fprintf(out_, "F,%u,%u,%u,%u,%u,%" PRIx64 ",%" PRIu64 ",%" PRIu64 "\n", fault.batch, fault.gpc,
                     fault.client, fault.access, fault.fault_type, fault.address, fault.cpu_ns, fault.gpu_ns);
        break;
      }
      case kGpuFaultReplay:
        std::fprintf(out_, "R,%u,%" PRIu64 ",%" PRIu64 "\n", entry.replay.batch, entry.replay.cpu_ns,
                     entry.replay.gpu_ns);
        break;
      case kMigration: {
        const Migration& copy = entry.migration;
        std::fprintf(out_, "M,%u,%u,%u,%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                     copy.cause, copy.source, copy.destination, copy.address, copy.bytes, copy.begin_ns, copy.end_ns,
                     copy.gpu_begin_ns, copy.gpu_end_ns);
        break;
      }
      default: {
        const Region& other = entry.region;
        std::fprintf(out_, "O,%u,%u,%u,%u,%" PRIx64 ",%" PRIx64 ",%" PRIu64 ",%" PRIu64 "\n", other.type, other.source,
                     other.destination, other.cause, other.words[0], other.words[1], other.words[2], other.words[3]);
      }
    }
  }

  const pid_t process_ = getpid();
  std::FILE* out_ = nullptr;
  std::thread worker_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_pipe_ = false, stop_ = false, complained_ = false;
  int tools_ = -1;
  const Entry* queue_ = nullptr;
  Control* control_ = nullptr;
};

// Never destroyed: a fork would wait for a thread that it does not have.
Recorder& recorder = *new Recorder;

__attribute__((destructor)) void finish() { recorder.finish(); }

}  // namespace

// Writes "# mark TEXT" after all events so far; the device should be idle. A recorded program finds it with dlsym.
extern "C" void uvmevents_mark(const char* text) { recorder.mark(text); }
