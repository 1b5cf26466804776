"use strict";
// Runs the body of a script: a failing command ends it with one line and exit code 1, not with a stack.
module.exports = function main(body) {
  try {
    body(require("./setup.cjs"));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
};
