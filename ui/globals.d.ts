/** What the app puts into the window before a page's own scripts run. */
interface Window {
  readonly __TAURI__?: {
    readonly core: { invoke(name: string, args?: Record<string, unknown>): Promise<unknown> };
    readonly event: { listen(name: string, handler: (event: { payload: unknown }) => void): Promise<() => void> };
  };
}
