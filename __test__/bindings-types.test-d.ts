// What compiles of the store of bindings, and what must not.
import { BindingError, type BindingErrorCode, type BindingRepository, BindingStore } from "../index.js";

const opened: Promise<BindingStore> = BindingStore.open("bindings.db", { busyTimeoutMs: 1 });

export async function used(): Promise<void> {
  const store: BindingRepository = await opened;
  const binding = await store.create({ productSessionId: "ps_1", runtimeInstanceId: "a", adapterId: "b" });
  await store.update(
    { ...binding, state: "bound", nativeSessionId: "n" },
    { expectedRevision: binding.revision },
  );
  const claim = await store.claim("ps_1", { repair: true });
  const released: boolean = await claim.release();
  const kept = await store.reserveNative({ productSessionId: "ps_1", adapterId: "b", nativeSessionId: "n" });
  const durable: false = kept.durable;
  const code: BindingErrorCode = "binding_conflict";
  const details = new BindingError(code, "m", { phase: "store" }).details?.["rule"];
  const found: string | undefined = (await store.get("ps_1"))?.nativeSessionId;
  void [released, durable, details, found];

  // @ts-expect-error an update says what it was made from
  await store.update(binding, {});
  // @ts-expect-error an update is the whole content
  await store.update({ productSessionId: "ps_1", state: "bound" }, { expectedRevision: 1 });
  // @ts-expect-error there is no such state
  await store.create({ ...binding, state: "lost" });
  // @ts-expect-error there is no such mode
  await store.update(binding, { expectedRevision: 1, mode: "force" });
  // @ts-expect-error what is shown has no native id
  void (await store.inspect("ps_1"))?.nativeSessionId;
  // @ts-expect-error a binding is not changed in place
  binding.revision = 2;
  // @ts-expect-error a store is opened, not made
  void new BindingStore();
}
