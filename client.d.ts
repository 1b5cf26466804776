export * from "./dist/client.js";
