// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace CLI {
class App;
}

namespace halftone::batch {

class Program;

// One command each: declares its flags and sets Program::action when it is chosen.
void addInfo(CLI::App& app, Program& program);
void addMethods(CLI::App& app, Program& program);
void addPlan(CLI::App& app, Program& program);
void addQuantize(CLI::App& app, Program& program);
void addRun(CLI::App& app, Program& program);
void addConvert(CLI::App& app, Program& program);
void addEval(CLI::App& app, Program& program);
void addVerify(CLI::App& app, Program& program);
void addView(CLI::App& app, Program& program);
void addSchema(CLI::App& app, Program& program);

} // namespace halftone::batch
