"use strict";
// One CommonJS build serves require and import alike, so that there is one instance of every class.
module.exports = require("./dist/index.js");
