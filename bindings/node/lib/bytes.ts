/** Whether a value is bytes, in any realm: `instanceof` fails for a Buffer that crosses into Jest's. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value);
}
