#include <array>

#include "workload/generators/rapids/cudf.h"

namespace uvmsim::rapids {
namespace {

using Names = std::vector<std::string>;

struct Parameters : DataParameters {
  double acquisition_row_bytes = 130, rows_per_loan = 40;
  std::int64_t acquisition_rows = 500'000;
};

std::vector<Field> performance_schema() {
  std::vector<Field> fields = {{"loan_id", Type::Int64},
                               {"monthly_reporting_period", Type::Date},
                               {"servicer", Type::Category},
                               {"interest_rate", Type::Float64},
                               {"current_actual_upb", Type::Float64},
                               {"loan_age", Type::Float64},
                               {"remaining_months_to_legal_maturity", Type::Float64},
                               {"adj_remaining_months_to_maturity", Type::Float64},
                               {"maturity_date", Type::Date},
                               {"msa", Type::Float64},
                               {"current_loan_delinquency_status", Type::Int32},
                               {"mod_flag", Type::Category},
                               {"zero_balance_code", Type::Category},
                               {"zero_balance_effective_date", Type::Date},
                               {"last_paid_installment_date", Type::Date},
                               {"foreclosed_after", Type::Date},
                               {"disposition_date", Type::Date}};
  for (const char* name :
       {"foreclosure_costs", "prop_preservation_and_repair_costs", "asset_recovery_costs", "misc_holding_expenses",
        "holding_taxes", "net_sale_proceeds", "credit_enhancement_proceeds", "repurchase_make_whole_proceeds",
        "other_foreclosure_proceeds", "non_interest_bearing_upb", "principal_forgiveness_upb"})
    fields.push_back({name, Type::Float64});
  fields.push_back({"repurchase_make_whole_proceeds_flag", Type::Category});
  fields.push_back({"foreclosure_principal_write_off_amount", Type::Float64});
  fields.push_back({"servicing_activity_indicator", Type::Category});
  return fields;
}

std::vector<Field> acquisition_schema() {
  std::vector<Field> fields = {{"loan_id", Type::Int64}};
  for (const char* name : {"seller_name", "orig_channel", "first_home_buyer", "loan_purpose", "property_type",
                           "occupancy_status", "property_state", "product_type", "relocation_mortgage_indicator"})
    fields.push_back({name, Type::Category});
  for (const char* name : {"orig_interest_rate", "orig_upb", "orig_loan_term", "orig_ltv", "orig_cltv", "num_borrowers",
                           "dti", "borrower_credit_score", "num_units", "zip", "mortgage_insurance_percent",
                           "coborrow_credit_score", "mortgage_insurance_type"})
    fields.push_back({name, Type::Float64});
  fields.push_back({"orig_date", Type::Date});
  fields.push_back({"first_pay_date", Type::Date});
  return fields;
}

constexpr const char* kStatus = "current_loan_delinquency_status";
constexpr const char* kPeriod = "monthly_reporting_period";
const Names kEver = {"ever_30", "ever_90", "ever_180"};
const Names kDelinquency = {"delinquency_30", "delinquency_90", "delinquency_180"};
// Of the rows, those of loans 30, 90 and 180 days late (assumed).
constexpr std::array<double, 3> kLate = {0.06, 0.02, 0.012};

// One part through the notebook's process_quarter_gpu, function by function.
class Part {
 public:
  Part(const Parameters& p, Recorder& recorder)
      : p_(p),
        recorder_(recorder),
        cudf_(recorder),
        rows_(p.rows_per_part()),
        loans_(std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rows_) / p.rows_per_loan))) {}

  void run() {
    phase("read acquisition");
    const Frame names = {{"seller_name", cudf_.column(5000, Type::Category)},
                         {"new", cudf_.column(5000, Type::Category)}};
    Frame acquisition = read_acquisition(names);
    phase("read performance");
    Frame performance = cudf_.read_csv(performance_schema(), rows_, p_.row_bytes);
    phase("ever");
    Frame ever = create_ever_features(performance);
    phase("delinquency");
    Frame delinquency = create_delinq_features(performance);
    join_ever_delinq_features(ever, delinquency);
    phase("joined");
    Frame joined = create_joined_df(performance, ever);
    phase("12 months");
    Frame twelve = create_12_mon_features(joined);
    phase("combine");
    combine_joined_12_mon(joined, twelve);
    phase("final performance");
    // `del(gdf)` in the notebook frees nothing: perf_df_tmp names the same frame, so it lives to the end.
    Frame merged = final_performance_delinquency(performance, joined);
    phase("join acquisition");
    merged = join_perf_acq_gdfs(merged, acquisition);
    phase("last mile cleaning");
    last_mile_cleaning(merged);
    phase("to arrow");
    for (const auto& [name, column] : merged) {
      recorder_.download(column.data);
      recorder_.host(column.data->bytes());
    }
  }

 private:
  void phase(const std::string& name) { recorder_.trace().phase(name); }

  Frame read_acquisition(const Frame& names) {
    Frame acquisition = cudf_.read_csv(acquisition_schema(), p_.acquisition_rows, p_.acquisition_row_bytes);
    acquisition = cudf_.merge(acquisition, names, {"seller_name"});
    acquisition["seller_name"] = acquisition.at("new");
    acquisition.erase("new");
    return acquisition;
  }

  Frame create_ever_features(const Frame& performance) {
    const Frame worst =
        cudf_.groupby(performance.take({"loan_id", kStatus}), {"loan_id"}, {{kStatus, Type::Int32}}, loans_);
    Frame ever = worst.take({"loan_id"});
    for (const std::string& name : kEver)
      ever[name] = chain(worst.at(kStatus), {{"greater_equal", Type::Bool}, {"astype", Type::Int8}});
    return ever;
  }

  Frame create_delinq_features(const Frame& performance) {
    const Frame status = performance.take({"loan_id", kPeriod, kStatus});
    std::vector<Frame> firsts;
    for (std::size_t i = 0; i < kLate.size(); ++i) {
      const Frame late = cudf_.query(status, kStatus, kLate[i], {"loan_id", kPeriod});
      const auto loans = static_cast<std::int64_t>(static_cast<double>(loans_) * kLate[i] * 3);
      const Frame first = cudf_.groupby(late, {"loan_id"}, {{kPeriod, Type::Date}}, std::max<std::int64_t>(1, loans));
      firsts.push_back({{"loan_id", first.at("loan_id")}, {kDelinquency[i], first.at(kPeriod)}});
    }
    Frame merged = cudf_.merge(firsts[0], firsts[1], {"loan_id"});
    merged[kDelinquency[1]] = cudf_.fillna(merged.at(kDelinquency[1]));
    merged = cudf_.merge(merged, firsts[2], {"loan_id"});
    merged[kDelinquency[2]] = cudf_.fillna(merged.at(kDelinquency[2]));
    release(firsts);
    return merged;
  }

  void join_ever_delinq_features(Frame& ever, Frame& delinquency) {
    ever = cudf_.merge(ever, delinquency, {"loan_id"});
    delinquency = {};
    for (const std::string& name : kDelinquency) ever[name] = cudf_.fillna(ever.at(name));
  }

  // Takes `ever`.
  Frame create_joined_df(const Frame& performance, Frame& ever) {
    Frame test = {{"loan_id", performance.at("loan_id")}, {"timestamp", performance.at(kPeriod)}};
    test["timestamp_month"] = cudf_.map("month", test.at("timestamp"), Type::Int16);
    test["timestamp_year"] = cudf_.map("year", test.at("timestamp"), Type::Int16);
    test["delinquency_12"] = cudf_.fillna(performance.at(kStatus));
    test["upb_12"] = cudf_.fillna(performance.at("current_actual_upb"));
    Frame joined = cudf_.merge(test, ever, {"loan_id"});
    ever = {};
    test = {};
    for (const Names& names : {kEver, kDelinquency})
      for (const std::string& name : names) joined[name] = cudf_.fillna(joined.at(name));
    for (const char* name : {"timestamp_year", "timestamp_month"})
      joined[name] = cudf_.map("astype", joined.at(name), Type::Int32);
    return joined;
  }

  // What happens in the twelve months before each row, one month of the year after the other.
  Frame create_12_mon_features(const Frame& joined) {
    std::vector<Frame> months;
    for (int month = 0; month < 12; ++month) {
      Frame t = joined.take({"loan_id", "timestamp_year", "timestamp_month", "delinquency_12", "upb_12"});
      t["josh_months"] = chain(t.at("timestamp_year"), {{"multiply", Type::Int32}, {"add", Type::Int32}});
      t["josh_mody_n"] = chain(t.at("josh_months"), {{"astype", Type::Float64},
                                                     {"subtract", Type::Float64},
                                                     {"subtract", Type::Float64},
                                                     {"divide", Type::Float64},
                                                     {"floor", Type::Float64}});
      const Frame g =
          cudf_.groupby(t, {"loan_id", "josh_mody_n"}, {{"delinquency_12", Type::Int32}, {"upb_12", Type::Float64}},
                        std::max<std::int64_t>(1, rows_ / 11));
      t = {};
      Frame result = g.take({"loan_id"});
      result["delinquency_12"] = chain(g.at("delinquency_12"), {{"greater", Type::Bool}, {"astype", Type::Int32}});
      result["delinquency_12"] =
          chain(g.at("upb_12"), {{"equal", Type::Bool}, {"astype", Type::Int32}, {"add", Type::Int32}});
      result["upb_12"] = g.at("upb_12");
      const Column year = chain(
          g.at("josh_mody_n"),
          {{"multiply", Type::Float64}, {"add", Type::Float64}, {"divide", Type::Float64}, {"floor", Type::Float64}});
      result["timestamp_year"] = cudf_.map("astype", year, Type::Int16);
      result["timestamp_month"] = cudf_.map("fill", year, Type::Int8);
      months.push_back(result);
    }
    Frame all = cudf_.concat(months);
    release(months);
    return all;
  }

  // An expression: one operation after the other on a column. Each result goes when the next is there.
  Column chain(Column column, const std::vector<Field>& operations) {
    for (const auto& [operation, type] : operations) column = cudf_.map(operation, column, type);
    return column;
  }

  // Takes `twelve`.
  void combine_joined_12_mon(Frame& joined, Frame& twelve) {
    joined.erase("delinquency_12");
    joined.erase("upb_12");
    joined["timestamp_year"] = cudf_.map("astype", joined.at("timestamp_year"), Type::Int16);
    joined["timestamp_month"] = cudf_.map("astype", joined.at("timestamp_month"), Type::Int8);
    joined = cudf_.merge(joined, twelve, {"loan_id", "timestamp_year", "timestamp_month"});
    twelve = {};
  }

  // Takes `joined`; works in place on `performance`.
  Frame final_performance_delinquency(Frame& performance, Frame& joined) {
    null_workaround(performance);
    null_workaround(joined);
    performance["timestamp_month"] = chain(performance.at(kPeriod), {{"month", Type::Int16}, {"astype", Type::Int8}});
    performance["timestamp_year"] = chain(performance.at(kPeriod), {{"year", Type::Int16}, {"astype", Type::Int16}});
    Frame merged = cudf_.merge(performance, joined, {"loan_id", "timestamp_year", "timestamp_month"});
    merged.erase("timestamp_year");
    merged.erase("timestamp_month");
    joined = {};
    return merged;
  }

  // Takes both.
  Frame join_perf_acq_gdfs(Frame& performance, Frame& acquisition) {
    null_workaround(performance);
    null_workaround(acquisition);
    Frame merged = cudf_.merge(performance, acquisition, {"loan_id"});
    performance = {};
    acquisition = {};
    return merged;
  }

  void last_mile_cleaning(Frame& frame) {
    for (const char* name :
         {"loan_id", "orig_date", "first_pay_date", "seller_name", kPeriod, "last_paid_installment_date",
          "maturity_date", "ever_30", "ever_90", "ever_180", "delinquency_30", "delinquency_90", "delinquency_180",
          "upb_12", "zero_balance_effective_date", "foreclosed_after", "disposition_date", "timestamp"})
      frame.erase(name);
    for (auto& [name, column] : frame) {
      if (column.type == Type::Category) column = cudf_.map("codes", column, Type::Int32);
      column = cudf_.map("astype", column, Type::Float32);
    }
    Column& late = frame["delinquency_12"];
    late = cudf_.map("greater", late, Type::Bool);
    late = cudf_.map("astype", cudf_.fillna(late), Type::Int32);
    for (auto& [name, column] : frame) column = cudf_.fillna(column);
  }

  // Joins of 2019 could not take nulls: every column but dates is filled, categories become integers.
  void null_workaround(Frame& frame) {
    for (auto& [name, column] : frame) {
      if (column.type == Type::Date) continue;
      if (column.type == Type::Category) column = cudf_.map("astype", column, Type::Int32);
      column = cudf_.fillna(column);
    }
  }

  const Parameters& p_;
  Recorder& recorder_;
  Cudf cudf_;
  std::int64_t rows_, loans_;
};

// Fannie Mae's loan performance data through RAPIDS' mortgage demo: CSV to data frames, features, Arrow. One worker
// of one GPU; an iteration handles `parts` files, one after the other.
class MortgageEtl final : public Generator {
 public:
  static const Description& description() {
    using P = Parameters;
    static const Description description = [] {
      auto d = describe_data<P>("RAPIDS mortgage demo, ETL: what one worker does with its performance files");
      describe_random(d);
      describe_host(d);
      d.number("rows_per_loan", &P::rows_per_loan, "months that a loan is reported in a file (assumed)", {1, 1e6})
          .integer("acquisition_rows", &P::acquisition_rows, "loans acquired in the quarter (assumed)",
                   {1, 1'000'000'000}, "rows")
          .number("acquisition_row_bytes", &P::acquisition_row_bytes, "bytes of a line of acquisition data (assumed)",
                  {1, 1e4});
      return d.build();
    }();
    return description;
  }
  DescribedObject parameters() override { return {&description(), &p_}; }
  std::string_view sort() const override { return "data frames"; }

  trace::Trace generate(int iterations) const override {
    TraceBuilder trace(header_of("mortgage_etl", p_.parts * p_.rows_per_part()));
    Recorder recorder(p_, trace);
    for (int i = 0; i < iterations; ++i) {
      trace.iteration(i);
      for (int part = 0; part < p_.parts; ++part) Part(p_, recorder).run();
    }
    return trace.take();
  }

 private:
  Parameters p_;
};

[[maybe_unused]] const bool kRegistered = add_plug_in<Generator, MortgageEtl>(
    {.name = "mortgage_etl",
     .summary = "RAPIDS mortgage demo, ETL of one worker",
     .source = "rapidsai/notebooks mortgage/E2E.ipynb of 2019-01-29, re-enacted on sizes"});

}  // namespace
}  // namespace uvmsim::rapids
