#include <charconv>

#include "machine/machine.h"

namespace uvmsim {

DriverTraits driver_traits(const std::string& version) {
  DriverTraits traits;
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  traits.assumed = major < 515;
  traits.major = traits.assumed ? 515 : major;
  traits.head_clamp_quirk = traits.major >= 525;
  traits.large_cpu_chunks = traits.major >= 530;
  traits.has_discard = traits.major >= 580;
  traits.discarded_list = traits.major >= 590;
  traits.adaptive_lapse = traits.major >= 590;
  traits.ats_prefetch = traits.major >= 545;
  traits.ats_access_counters = traits.major >= 550;
  traits.expands_notifications = traits.major >= 550;
  traits.drops_notifications = traits.major > 535;
  traits.prefetch_away_from_preferred = traits.major < 590;
  return traits;
}

bool has_ats(const GpuSpec& gpu) {
  return (gpu.host_link == "nvlink" || gpu.host_link == "c2c") && gpu.architecture != "pascal";
}

}  // namespace uvmsim
