/** English: the words of every page. */
export default {
  "state.off": "AI control is off",
  "state.authorised": "AI control is on",
  "state.paused": "AI control is paused",
  "state.problem": "Deskhand does not work right now",
};
