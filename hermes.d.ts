export * from "./dist/hermes.js";
export * from "./dist/hermes-reconciler.js";
