// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"

#include "core/base/text.h"
#include "core/session/job_lines.h"
#include "core/session/job_points.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace halftone {

namespace {

// Ordered: the labels of a sweep follow the order in which a person wrote its parameters.
using OrderedJson = nlohmann::ordered_json;

std::optional<std::string> scalarText(const OrderedJson& value)
{
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
    if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
    if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
    if (value.is_number()) return exactNumber(value.get<double>());
    return std::nullopt;
}

class Parser {
public:
    Parser(const OrderedJson& root, const JsonLines& lines, const std::filesystem::path& folder,
           const MethodRegistry& methods)
        : m_root(root), m_problems(lines), m_folder(folder), m_methods(methods)
    {
        for (const auto& path : lines.doubles)
            m_problems.add(path, "is there twice");
    }

    Result<JobFile> run()
    {
        JobFile job;
        if (!m_root.is_object()) {
            m_problems.add("", "a job file is one JSON object");
            return m_problems.error();
        }
        allowOnly("", m_root, {"$schema", "halftone-job", "model", "seed", "steps"});
        const auto format = m_root.find("halftone-job");
        if (format == m_root.end())
            m_problems.add("/halftone-job", "is missing: write \"halftone-job\": 1");
        else if (!format->is_number_integer() || *format != 1)
            m_problems.add("/halftone-job", "this program reads job files of format 1");
        if (const auto model = wantText("", m_root, "model")) job.model = m_folder / *model;
        if (const auto seed = m_root.find("seed"); seed != m_root.end()) {
            if (seed->is_number_unsigned())
                job.seed = seed->get<std::uint64_t>();
            else
                m_problems.add("/seed", "is not a whole number from 0");
        }
        const auto steps = m_root.find("steps");
        if (steps == m_root.end() || !steps->is_array() || steps->empty()) {
            m_problems.add("/steps", "is not a list of at least one step");
        } else {
            for (std::size_t i = 0; i < steps->size(); ++i)
                job.steps.push_back(step("/steps/" + std::to_string(i), (*steps)[i]));
        }
        checkOutputs(job);
        if (!m_problems.empty()) return m_problems.error();
        return job;
    }

private:
    using Do = JobStep::Do;

    void allowOnly(const std::string& path, const OrderedJson& object,
                   std::initializer_list<std::string_view> keys)
    {
        for (const auto& [key, value] : object.items())
            if (std::find(keys.begin(), keys.end(), key) == keys.end())
                m_problems.add(fmt::format("{}/{}", path, key),
                               fmt::format("is not known here; known: {}", fmt::join(keys, ", ")));
    }

    std::optional<std::string> text(const std::string& path, const OrderedJson& object, const char* key)
    {
        const auto member = object.find(key);
        if (member == object.end()) return std::nullopt;
        if (member->is_string() && !member->get_ref<const std::string&>().empty())
            return member->get<std::string>();
        m_problems.add(fmt::format("{}/{}", path, key), "is not a text");
        return std::nullopt;
    }

    std::optional<std::string> wantText(const std::string& path, const OrderedJson& object, const char* key)
    {
        if (object.find(key) == object.end()) m_problems.add(fmt::format("{}/{}", path, key), "is missing");
        return text(path, object, key);
    }

    std::shared_ptr<const Method> method(const std::string& path, const OrderedJson& object)
    {
        const auto id = wantText(path, object, "method");
        if (!id) return nullptr;
        auto found = m_methods.find(*id);
        if (found) return *found;
        m_problems.add(path + "/method", found.error().what());
        return nullptr;
    }

    std::shared_ptr<const QuantizeMethod> quantizer(const std::string& path, const OrderedJson& object)
    {
        const auto any = method(path, object);
        auto quantize = std::dynamic_pointer_cast<const QuantizeMethod>(any);
        if (any && !quantize)
            m_problems.add(path + "/method", fmt::format("{} is no quantizer: it {}s", any->info().id,
                                                         nameOf(any->info().family)));
        return quantize;
    }

    std::vector<std::string> globs(const std::string& path, const OrderedJson& object)
    {
        std::vector<std::string> patterns;
        const auto member = object.find("tensors");
        if (member == object.end()) return patterns;
        if (!member->is_array() || member->empty()) {
            m_problems.add(path + "/tensors", "is not a list of names; * and ? match any text");
            return patterns;
        }
        for (std::size_t i = 0; i < member->size(); ++i) {
            if ((*member)[i].is_string())
                patterns.push_back((*member)[i].get<std::string>());
            else
                m_problems.add(path + "/tensors/" + std::to_string(i), "is not a name");
        }
        return patterns;
    }

    /// The members of "set", each checked by itself, so that every problem gets its own line.
    ParamList params(const std::string& path, const OrderedJson& object, const ParamSchema& schema)
    {
        ParamTexts texts;
        bool good = true;
        if (const auto set = object.find("set"); set != object.end()) {
            if (!set->is_object()) {
                m_problems.add(path + "/set", "is not an object of parameters");
                return {};
            }
            for (const auto& [key, value] : set->items())
                if (auto checked = scalar(fmt::format("{}/set/{}", path, key), key, value, schema))
                    texts.emplace_back(key, *checked);
                else
                    good = false;
        }
        if (!good) return {};
        auto complete = schema.complete(texts);
        if (complete) return *complete;
        m_problems.add(path + "/set", complete.error().what());
        return {};
    }

    std::optional<std::string> scalar(const std::string& path, const std::string& key,
                                      const OrderedJson& value, const ParamSchema& schema)
    {
        auto written = scalarText(value);
        if (!written) {
            m_problems.add(path, "is not a number, a text, true or false");
            return std::nullopt;
        }
        const ParamTexts one{{key, *written}};
        if (auto checked = schema.complete(one); !checked) {
            m_problems.add(path, checked.error().what());
            return std::nullopt;
        }
        return written;
    }

    std::vector<std::string> axisValues(const std::string& path, const std::string& key,
                                        const OrderedJson& value, const ParamSchema& schema)
    {
        std::vector<std::string> values;
        if (value.is_array()) {
            for (std::size_t i = 0; i < value.size(); ++i)
                if (auto one = scalar(path + "/" + std::to_string(i), key, value[i], schema))
                    values.push_back(*one);
            if (value.empty()) m_problems.add(path, "has no values");
            return values;
        }
        if (!value.is_object()) {
            if (auto one = scalar(path, key, value, schema)) values.push_back(*one);
            return values;
        }
        allowOnly(path, value, {"from", "to", "step"});
        const auto* spec = schema.find(key);
        if (spec == nullptr) {
            scalar(path, key, OrderedJson(0), schema);
            return values;
        }
        double ends[3] = {0, 0, 0};
        const char* const names[3] = {"from", "to", "step"};
        for (int i = 0; i < 3; ++i) {
            const auto member = value.find(names[i]);
            if (member != value.end() && member->is_number())
                ends[i] = member->get<double>();
            else if (member != value.end() || i < 2) {
                m_problems.add(path + "/" + names[i], "is not a number");
                return values;
            }
        }
        auto texts = rangeTexts(*spec, ends[0], ends[1], ends[2]);
        if (!texts) {
            m_problems.add(path, texts.error().what());
            return values;
        }
        for (const auto& one : *texts) {
            if (scalar(path, key, OrderedJson(one), schema)) values.push_back(one);
            if (values.empty()) break; // one complaint a range is enough
        }
        return values;
    }

    void point(const std::string& path, const OrderedJson& object, std::vector<SweepPoint>& points)
    {
        if (!object.is_object()) {
            m_problems.add(path, "is not an object with a method");
            return;
        }
        allowOnly(path, object, {"method", "set"});
        const auto method = quantizer(path, object);
        if (!method) return;
        const ParamSchema schema = quantizeSchema().joined(method->schema());
        std::vector<SweepAxis> axes;
        if (const auto set = object.find("set"); set != object.end()) {
            if (!set->is_object()) {
                m_problems.add(path + "/set", "is not an object of parameters");
                return;
            }
            for (const auto& [key, value] : set->items()) {
                axes.push_back({key, axisValues(fmt::format("{}/set/{}", path, key), key, value, schema)});
                if (axes.back().values.empty()) return;
            }
        }
        auto expanded = expandPoints(method, axes);
        if (!expanded) {
            m_problems.add(path, expanded.error().what());
            return;
        }
        points.insert(points.end(), expanded->begin(), expanded->end());
    }

    JobStep step(const std::string& path, const OrderedJson& object)
    {
        JobStep s;
        if (!object.is_object()) {
            m_problems.add(path, "is not an object with \"do\"");
            return s;
        }
        const auto what = wantText(path, object, "do");
        if (!what) return s;
        if (*what == "overview") {
            allowOnly(path, object, {"do"});
        } else if (*what == "analyse") {
            s.what = Do::Analyse;
            allowOnly(path, object, {"do", "method", "set", "tensors"});
            s.method = method(path, object);
            if (s.method) s.params = params(path, object, s.method->schema());
            s.tensors = globs(path, object);
        } else if (*what == "sweep") {
            s.what = Do::Sweep;
            allowOnly(path, object, {"do", "points", "tensors"});
            s.tensors = globs(path, object);
            const auto points = object.find("points");
            if (points == object.end() || !points->is_array() || points->empty())
                m_problems.add(path + "/points", "is not a list of at least one point");
            else
                for (std::size_t i = 0; i < points->size(); ++i)
                    point(path + "/points/" + std::to_string(i), (*points)[i], s.points);
        } else if (*what == "quantize") {
            s.what = Do::Quantize;
            allowOnly(path, object, {"do", "method", "set", "output"});
            const auto quantize = quantizer(path, object);
            s.method = quantize;
            if (quantize) s.params = params(path, object, quantizeSchema().joined(quantize->schema()));
            s.output = wantText(path, object, "output").value_or("");
        } else if (*what == "verify") {
            s.what = Do::Verify;
            allowOnly(path, object, {"do", "output", "against"});
            s.output = wantText(path, object, "output").value_or("");
            if (const auto against = text(path, object, "against"))
                s.against = (m_folder / *against).string();
        } else {
            m_problems.add(path + "/do",
                           fmt::format("\"{}\" is not known; known: overview, analyse, sweep, quantize, "
                                       "verify",
                                       *what));
        }
        return s;
    }

    /// Two steps that write one file would leave only the second: surely a mistake.
    void checkOutputs(const JobFile& job)
    {
        std::vector<std::string> outputs;
        for (std::size_t i = 0; i < job.steps.size(); ++i) {
            const auto& step = job.steps[i];
            if (step.what != Do::Quantize || step.output.empty()) continue;
            const auto normal = std::filesystem::path(step.output).lexically_normal().string();
            if (std::find(outputs.begin(), outputs.end(), normal) != outputs.end())
                m_problems.add(fmt::format("/steps/{}/output", i),
                               step.output + " is written by an earlier step too");
            outputs.push_back(normal);
        }
    }

    const OrderedJson& m_root;
    JobProblems m_problems;
    const std::filesystem::path& m_folder;
    const MethodRegistry& m_methods;
};

} // namespace

Result<JobFile> parseJobFile(std::string_view text, const std::filesystem::path& folder,
                             const MethodRegistry& methods)
{
    try {
        const OrderedJson root = OrderedJson::parse(text.begin(), text.end(), nullptr, true, true);
        const JsonLines lines = jsonLines(text);
        auto job = Parser(root, lines, folder, methods).run();
        if (job) job->text = text;
        return job;
    } catch (const nlohmann::json::exception& e) {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: ...": the number is of no use.
        std::string_view what = e.what();
        if (const auto end = what.find("] "); what.starts_with("[") && end != std::string_view::npos)
            what.remove_prefix(end + 2);
        std::string line(what);
        std::replace(line.begin(), line.end(), '\n', ' ');
        return Error(Errc::BadFormat, "is not JSON: " + line);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "the job file does not fit into memory");
    }
}

} // namespace halftone
