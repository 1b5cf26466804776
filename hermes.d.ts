export * from "./dist/hermes.js";
