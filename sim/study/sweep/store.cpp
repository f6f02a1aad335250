#include "study/sweep/store.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

#include "base/user_error.h"
#include "base/version.h"

namespace uvmsim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kLayout = 1;
constexpr const char* kFile = "/sweep.sqlite";

constexpr const char* kCountDone = "SELECT count(*) FROM results WHERE outcome <> 'failed'";
constexpr const char* kTables = R"(
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY, experiment TEXT NOT NULL, description TEXT NOT NULL, axes TEXT NOT NULL,
  settings TEXT NOT NULL, config TEXT NOT NULL, started_at TEXT NOT NULL,
  UNIQUE (experiment, axes, settings, config));
CREATE TABLE points (
  sweep INTEGER NOT NULL REFERENCES sweeps (id), place INTEGER NOT NULL, hash TEXT NOT NULL, settings TEXT NOT NULL,
  PRIMARY KEY (sweep, place)) WITHOUT ROWID;
CREATE TABLE results (
  hash TEXT PRIMARY KEY, outcome TEXT NOT NULL, error TEXT NOT NULL, report TEXT, wall_s REAL NOT NULL,
  cpu_s REAL NOT NULL, peak_rss_bytes INTEGER NOT NULL, finished_at TEXT NOT NULL, worker TEXT NOT NULL,
  version TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (hash TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
)";

std::string prepared(const std::string& folder, SweepStore::Open open) {
  std::error_code error;
  if (open == SweepStore::Open::Existing) {
    if (!fs::is_regular_file(folder + kFile, error)) throw UserError(folder, "holds no sweep");
    return folder;
  }
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw std::system_error(error ? error : std::make_error_code(std::errc::not_a_directory),
                            folder + ": cannot make this folder");
  if (access(folder.c_str(), W_OK) != 0)
    throw std::system_error(errno, std::generic_category(), folder + ": cannot write in this folder");
  return folder;
}

// A value as behind --set: JSON if it parses as JSON, else a text.
Json json_value(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

std::string axes_json(const SweepPlan& plan) {
  Json axes = Json::array();
  for (const SweepAxis& axis : plan.axes()) {
    Json values = Json::array();
    for (const std::vector<std::string>& step : axis.steps) {
      Json& row = values.emplace_back(Json::array());
      for (const std::string& value : step) row.push_back(json_value(value));
    }
    axes.push_back({{"keys", axis.keys}, {"values", std::move(values)}});
  }
  return axes.dump();
}

std::string settings_json(const SweepPlan& plan, const SweepPoint& point) {
  Json settings = Json::object();
  for (std::size_t k = 0; k < plan.keys().size(); ++k) settings[plan.keys()[k]] = json_value(point.values[k]);
  return settings.dump();
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace

SweepStore::SweepStore(const std::string& folder, Open open)
    : folder_(prepared(folder, open)),
      database_(folder_ + kFile, open == Open::Create ? Database::Use::Create : Database::Use::Read) {
  if (open == Open::Existing) {
    check_layout(database_.integer("PRAGMA user_version"));
    return;
  }
  owner_.emplace(folder_);
  create_tables();
  SqliteStatement failed = database_.prepare("SELECT hash FROM results WHERE outcome = 'failed' OR version <> ?");
  failed.add(kVersion);
  while (failed.step()) again_.insert(failed.text(0));
}

void SweepStore::create_tables() {
  Transaction transaction(database_);
  const std::int64_t version = database_.integer("PRAGMA user_version");
  if (version == 0) database_.run(kTables);
  if (version != 0) check_layout(version);
  transaction.keep();
}

void SweepStore::check_layout(std::int64_t version) const {
  if (version != kLayout)
    throw UserError(folder_ + kFile, "its layout is " + std::to_string(version) + "; this uvmsim knows layout " +
                                         std::to_string(kLayout));
}

bool SweepStore::has_results() const { return database_.integer("SELECT count(*) FROM results") > 0; }

void SweepStore::add(const SweepPlan& plan, const std::vector<std::size_t>& points) {
  const SweepSources& sources = plan.sources();
  const std::string axes = axes_json(plan), settings = Json(sources.settings).dump();
  Transaction transaction(database_);
  database_
      .prepare(
          "INSERT OR IGNORE INTO sweeps (experiment, description, axes, settings, config, started_at) "
          "VALUES (?, ?, ?, ?, ?, ?)")
      .add(plan.name())
      .add(plan.description())
      .add(axes)
      .add(settings)
      .add(sources.config)
      .add(now_utc())
      .run();
  SqliteStatement find =
      database_.prepare("SELECT id FROM sweeps WHERE experiment = ? AND axes = ? AND settings = ? AND config = ?");
  find.add(plan.name()).add(axes).add(settings).add(sources.config);
  find.step();
  const std::int64_t id = find.integer(0);
  SqliteStatement insert = database_.prepare("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)");
  for (const std::size_t place : points) {
    const SweepPoint& point = plan.points()[place];
    insert.add(id).add(static_cast<std::int64_t>(place)).add(point.hash).add(settings_json(plan, point)).run();
  }
  transaction.keep();
}

SweepStore::Claim SweepStore::claim(const std::string& hash) {
  Transaction transaction(database_);
  SqliteStatement done = database_.prepare("SELECT 1 FROM results WHERE hash = ?");
  if (done.add(hash).step() && !again_.contains(hash)) return Claim::Done;
  SqliteStatement claimed = database_.prepare("SELECT owner FROM claims WHERE hash = ?");
  if (claimed.add(hash).step() && owner_->is_alive(claimed.text(0))) return Claim::Others;
  database_.prepare("INSERT OR REPLACE INTO claims VALUES (?, ?)").add(hash).add(owner_->name()).run();
  again_.erase(hash);
  transaction.keep();
  return Claim::Mine;
}

void SweepStore::keep(const std::string& hash, const PointOutcome& outcome) {
  Transaction transaction(database_);
  SqliteStatement insert = database_.prepare("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.add(hash).add(outcome.outcome).add(outcome.error);
  if (outcome.report.empty())
    insert.add_null();
  else
    insert.add(outcome.report);
  insert.add(outcome.wall_s).add(outcome.cpu_s).add(outcome.peak_rss_bytes).add(now_utc()).add(outcome.worker);
  insert.add(kVersion).run();
  database_.prepare("DELETE FROM claims WHERE hash = ?").add(hash).run();
  transaction.keep();
}

void SweepStore::release(const std::string& hash) {
  database_.prepare("DELETE FROM claims WHERE hash = ? AND owner = ?").add(hash).add(owner_->name()).run();
}

std::int64_t SweepStore::merge(const std::string& folder) {
  { const SweepStore check(folder, Open::Existing); }  // of a layout that is known
  database_.prepare("ATTACH DATABASE ? AS other").add(folder + kFile).run();
  const std::int64_t before = database_.integer(kCountDone);
  {
    Transaction transaction(database_);
    database_.run(
        "INSERT OR IGNORE INTO sweeps (experiment, description, axes, settings, config, started_at)"
        " SELECT experiment, description, axes, settings, config, started_at FROM other.sweeps ORDER BY id;"
        "CREATE TEMP TABLE arriving AS SELECT mine.id AS sweep, p.place, p.hash, p.settings"
        " FROM other.points p JOIN other.sweeps theirs ON theirs.id = p.sweep"
        " JOIN main.sweeps mine ON mine.experiment = theirs.experiment AND mine.axes = theirs.axes"
        " AND mine.settings = theirs.settings AND mine.config = theirs.config");
    if (database_.integer("SELECT count(*) FROM arriving a JOIN points p USING (sweep, place) "
                          "WHERE a.hash <> p.hash") > 0)
      throw UserError(
          folder, "its points are other ones than in " + folder_ + ": the config or the trace was changed in between");
    database_.run(
        "INSERT OR IGNORE INTO points SELECT * FROM arriving; DROP TABLE arriving;"
        "INSERT OR REPLACE INTO results SELECT * FROM other.results theirs WHERE NOT EXISTS"
        " (SELECT 1 FROM main.results mine WHERE mine.hash = theirs.hash AND mine.outcome <> 'failed')");
    transaction.keep();
  }
  database_.run("DETACH DATABASE other");
  return database_.integer(kCountDone) - before;
}

std::vector<StoredSweep> SweepStore::sweeps() const {
  std::vector<StoredSweep> all;
  SqliteStatement select =
      database_.prepare("SELECT id, experiment, description, axes, settings FROM sweeps ORDER BY id");
  while (select.step())
    all.push_back({select.integer(0), select.text(1), select.text(2), select.text(3), select.text(4)});
  return all;
}

void SweepStore::for_each_point(std::int64_t sweep, const std::function<void(const StoredPoint&)>& visit) const {
  SqliteStatement select = database_.prepare(
      "SELECT p.place, p.hash, p.settings, r.outcome, r.error, r.report, r.wall_s, r.cpu_s, r.peak_rss_bytes"
      " FROM points p LEFT JOIN results r USING (hash) WHERE p.sweep = ? ORDER BY p.place");
  select.add(sweep);
  while (select.step())
    visit({.place = select.integer(0),
           .hash = select.text(1),
           .settings = select.text(2),
           .outcome = select.text(3),
           .error = select.text(4),
           .report = select.text(5),
           .wall_s = select.number(6),
           .cpu_s = select.number(7),
           .peak_rss_bytes = select.integer(8)});
}

}  // namespace uvmsim
