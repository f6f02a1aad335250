#include "gpu/remote_access.h"

#include <algorithm>
#include <numeric>

namespace uvmsim {
namespace {

// What comes with each packet's payload. On PCI Express framing, sequence number and LCRC are 8 B, the header of a
// completion (a read's answer) 12 B, that of a write to a 64-bit address 16 B. Source: PCI Express base specification
// 3.0, sections 2.2 and 4.2.2; Intel application note 690, "Protocol overhead". On NVLink a packet is flits of 16 B, of
// which one is its header. Source: Foley and Danskin, Ultra-performance Pascal GPU and NVLink interconnect, IEEE Micro
// 2017. NVLink-C2C is assumed to be as NVLink.
struct Overhead {
  std::int64_t read = 20, write = 24;
};

Overhead overhead_of(const GpuSpec& gpu) {
  return gpu.host_link == "nvlink" || gpu.host_link == "c2c" ? Overhead{16, 16} : Overhead{};
}

std::int64_t units_touched(VirtualAddress address, std::int64_t bytes, std::int64_t unit) {
  const auto size = static_cast<VirtualAddress>(unit);
  return static_cast<std::int64_t>((address + static_cast<VirtualAddress>(bytes) - 1) / size - address / size) + 1;
}

// Whole sectors of the places of one warp, in ascending order: sectors and lines that places share count once.
LinkRequests warp_requests(VirtualAddress address, std::int64_t width, std::int64_t stride, std::int64_t places) {
  LinkRequests all;
  VirtualAddress sector = 0, line = 0;  // after the last ones counted
  for (std::int64_t place = 0; place < places; ++place) {
    const VirtualAddress first = address + static_cast<VirtualAddress>(place * stride);
    const VirtualAddress last = first + static_cast<VirtualAddress>(width) - 1;
    const VirtualAddress from = std::max(sector, first / kSectorBytes), line_from = std::max(line, first / kLineBytes);
    sector = std::max(sector, last / kSectorBytes + 1);
    line = std::max(line, last / kLineBytes + 1);
    all += {static_cast<std::int64_t>(line - std::min(line, line_from)),
            static_cast<std::int64_t>(sector - std::min(sector, from)) * kSectorBytes};
  }
  return all;
}

// Sums `requests_at` over `count` addresses `stride` apart: it repeats with the addresses' place in their line.
template <class RequestsAt>
LinkRequests sum_periodic(VirtualAddress address, std::int64_t stride, std::int64_t count, RequestsAt requests_at) {
  const std::int64_t period = kLineBytes / std::gcd(stride, kLineBytes);  // 1 when `stride` is 0
  LinkRequests all;
  for (std::int64_t i = 0; i < std::min(period, count); ++i)
    all += requests_at(address + static_cast<VirtualAddress>(i * stride)) * ((count - 1 - i) / period + 1);
  return all;
}

// The bytes in requests of whole lines that are as long on the wire.
Bytes in_lines(const LinkRequests& requests, std::int64_t overhead) {
  return Bytes{(requests.bytes + requests.requests * overhead) * kLineBytes / (kLineBytes + overhead)};
}

std::int64_t share(std::int64_t all, std::int64_t part, std::int64_t whole) {
  if (part == whole) return all;
  return static_cast<std::int64_t>(static_cast<double>(all) * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

LinkRequests requests_of(VirtualAddress address, std::int64_t bytes) {
  if (bytes <= 0) return {};
  return {units_touched(address, bytes, kLineBytes), units_touched(address, bytes, kSectorBytes) * kSectorBytes};
}

LinkRequests requests_of(VirtualAddress address, std::int64_t bytes, std::int64_t stride, std::int64_t count) {
  return sum_periodic(address, stride, count, [bytes](VirtualAddress at) { return requests_of(at, bytes); });
}

LinkRequests piece_requests_of(VirtualAddress address, std::int64_t bytes, std::int64_t piece, std::int64_t pitch,
                               std::int64_t lines) {
  const std::int64_t whole = bytes / piece;
  return sum_periodic(address, pitch, lines, [=](VirtualAddress at) {
    return requests_of(at, piece, piece, whole) +
           requests_of(at + static_cast<VirtualAddress>(whole * piece), bytes - whole * piece);
  });
}

LinkRequests gather_requests_of(VirtualAddress address, std::int64_t width, std::int64_t stride, std::int64_t places) {
  const std::int64_t warps = places / kWarpThreads, rest = places % kWarpThreads;
  LinkRequests all = sum_periodic(address, stride * kWarpThreads, warps,
                                  [=](VirtualAddress at) { return warp_requests(at, width, stride, kWarpThreads); });
  return all +=
         warp_requests(address + static_cast<VirtualAddress>(places - rest) * static_cast<VirtualAddress>(stride),
                       width, stride, rest);
}

LinkRequests chunk_requests_of(VirtualAddress address, std::int64_t width, std::int64_t stride, std::int64_t places,
                               std::int64_t chunk) {
  const std::int64_t threads = (places + chunk - 1) / chunk;
  const std::int64_t in_last = places - (threads - 1) * chunk;  // of the last thread, whose chunk may be shorter
  const auto of_all = [=](VirtualAddress at) { return gather_requests_of(at, width, chunk * stride, threads); };
  const auto without_last = [=](VirtualAddress at) {
    return gather_requests_of(at, width, chunk * stride, threads - 1);
  };
  return sum_periodic(address, stride, in_last, of_all) +
         sum_periodic(address + static_cast<VirtualAddress>(in_last * stride), stride, chunk - in_last, without_last);
}

void add_remote(const AccessedRange& range, const PageTable& pages, RemoteAccess& access) {
  if (range.bytes <= 0) return;
  const PageNumber first = page_of(range.address);
  const PageNumber outer = page_of(range.address + static_cast<VirtualAddress>(range.bytes) - 1) + 1;
  const std::int64_t remote = pages.remote_pages(first, outer), all = outer - first;
  if (remote == 0) return;
  const LinkRequests part{share(range.requests.requests, remote, all), share(range.requests.bytes, remote, all)};
  if (range.read) {
    access.read += part;
    access.loads = std::max(access.loads, share(range.loads, remote, all));
  }
  if (range.write) access.written += part;
}

RemoteAccess more_than(const RemoteAccess& before, const RemoteAccess& after) {
  const auto more = [](const LinkRequests& a, const LinkRequests& b) {
    return LinkRequests{std::max<std::int64_t>(b.requests - a.requests, 0),
                        std::max<std::int64_t>(b.bytes - a.bytes, 0)};
  };
  return {more(before.read, after.read), more(before.written, after.written),
          std::max<std::int64_t>(after.loads - before.loads, 0)};
}

Duration RemoteLoad::alone(const GpuSpec& gpu) const {
  return std::max({answers, transfer_time(to_gpu, gpu.remote_bandwidth), transfer_time(to_host, gpu.remote_bandwidth)});
}

RemoteLoad remote_load(const RemoteAccess& access, const GpuSpec& gpu, std::int64_t warps) {
  const std::int64_t in_turn = (access.loads + warps - 1) / warps;
  const Overhead overhead = overhead_of(gpu);
  return {in_lines(access.read, overhead.read), in_lines(access.written, overhead.write),
          std::max(gpu.remote_request_interval * access.read.requests, gpu.remote_latency * in_turn)};
}

}  // namespace uvmsim
