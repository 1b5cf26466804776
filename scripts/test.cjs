"use strict";
// `npm test`: sets up what is missing and runs every check. The work is in checks.cjs, which may use new syntax.
require("./tools.cjs").check("test");
require("./checks.cjs").runAll();
