/** Simplified Chinese: the words of every page. */
export default {
  "state.off": "AI 控制已关闭",
  "state.authorised": "AI 控制已开启",
  "state.paused": "AI 控制已暂停",
  "state.problem": "Deskhand 目前无法工作",
};
