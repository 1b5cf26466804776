// What the command needs of a monitor. Types only: who opens one is given, so that tests can give their own.
import type { Monitor, MonitorOptions } from "../monitor.js";

export type MonitorLike = Pick<Monitor, "rows" | "explain" | "changesSince" | "hidden" | "close">;

export type OpenMonitor = (options: MonitorOptions) => Promise<MonitorLike>;
