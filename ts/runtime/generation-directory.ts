export async function openGenerationDirectory(): Promise<{ path: string; remove(): Promise<void> }> {
  throw new Error("not yet");
}
