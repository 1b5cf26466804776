"use strict";
// `npm start`: sets up what is missing and plays the demonstration.
require("./tools.cjs").check("build");
require("./main.cjs")(function (setup) {
  setup.ensureAll();
  setup.run(process.execPath, [setup.at("scripts", "demo.cjs")]);
});
