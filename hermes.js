"use strict";
// The same build as the main entry, so that there is one instance of every class.
module.exports = { ...require("./dist/hermes.js"), ...require("./dist/hermes-reconciler.js") };
