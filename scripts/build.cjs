"use strict";
// `npm run build`: the addon, the generated files where they are committed, and the TypeScript build.
require("./tools.cjs").check("build");
require("./main.cjs")(function (setup) {
  setup.ensurePackages();
  setup.ensureAddon({ locked: false });
  setup.writeGenerated();
  setup.ensureDist();
});
