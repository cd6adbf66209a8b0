//! The few words that are not on a page: menus and titles, in both languages.

use deskhand_app::person::settings::Language;

/// What the menu and the windows' titles say.
pub struct Words {
    pub authorize: &'static str,
    pub quarter: &'static str,
    pub hour: &'static str,
    pub lasting: &'static str,
    pub pause: &'static str,
    pub resume: &'static str,
    pub stop: &'static str,
    pub open: &'static str,
    pub quit: &'static str,
    pub question: &'static str,
    pub sign: &'static str,
    pub off: &'static str,
    pub ready: &'static str,
    pub acting: &'static str,
    pub paused: &'static str,
    pub problem: &'static str,
}

static ENGLISH: Words = Words {
    authorize: "Authorize AI control",
    quarter: "For 15 minutes",
    hour: "For 1 hour",
    lasting: "Until I stop it",
    pause: "Pause",
    resume: "Resume",
    stop: "Stop everything",
    open: "Open Deskhand",
    quit: "Quit",
    question: "Deskhand asks",
    sign: "AI is acting",
    off: "Deskhand: AI control is off",
    ready: "Deskhand: AI control is on",
    acting: "Deskhand: AI is acting",
    paused: "Deskhand: AI control is paused",
    problem: "Deskhand: there is a problem",
};

static CHINESE: Words = Words {
    authorize: "授权 AI 控制",
    quarter: "15 分钟",
    hour: "1 小时",
    lasting: "直到我停止",
    pause: "暂停",
    resume: "继续",
    stop: "全部停止",
    open: "打开 Deskhand",
    quit: "退出",
    question: "Deskhand 请求确认",
    sign: "AI 正在操作",
    off: "Deskhand：AI 控制已关闭",
    ready: "Deskhand：AI 控制已开启",
    acting: "Deskhand：AI 正在操作",
    paused: "Deskhand：AI 控制已暂停",
    problem: "Deskhand：出现问题",
};

/// The words of a language.
pub fn words(language: Language) -> &'static Words {
    match language.resolved() {
        Language::Chinese => &CHINESE,
        _ => &ENGLISH,
    }
}
