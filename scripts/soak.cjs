"use strict";
// `npm run soak [pushes]`: sets up what is missing and pushes a million times into record decoders.
require("./tools.cjs").check("build");
require("./main.cjs")(function (setup) {
  setup.ensureAll();
  const script = setup.at("benches", "soak.mjs");
  setup.run(process.execPath, ["--expose-gc", script].concat(process.argv.slice(2)));
});
