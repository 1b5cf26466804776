// The fake adapter with two processes of its own: one in its group, and one that has left it.
import { spawn } from "node:child_process";

spawn("sleep", ["300"], { stdio: "inherit" });
spawn("sleep", ["300"], { stdio: "ignore", detached: true }).unref();
await import("../../dist/testing/fake-adapter.js");
