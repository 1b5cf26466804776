"use strict";
// The same build as the main entry, without its addon.
module.exports = require("./dist/client.js");
