"use strict";
// `npm run bench [name]`: sets up what is missing and runs the benches.
require("./tools.cjs").check("build");
require("./main.cjs")(function (setup) {
  setup.ensureAll();
  setup.run(process.execPath, [setup.at("benches", "run.mjs")].concat(process.argv.slice(2)));
});
