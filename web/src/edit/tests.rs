//! The editor against the engine that comes with the page, without a browser.

use super::*;
use folioscope_core::service::Input;

const TEXT: &str = include_str!("../../../assets/scenarios/sandbox.toml");

fn answered(request: &Request) -> Reply {
    Reply::decode(&folioscope_web_engine::answer(&request.encode())).expect("a reply")
}

/// An editor with what is on the stage; every wish is carried out at once.
struct Desk {
    editor: Editor,
    state: State,
    said: Vec<String>,
}

impl Desk {
    fn new(text: &str) -> Self {
        let Reply::Opened(opened) = answered(&Request::Scenario(text.to_owned())) else { panic!() };
        let (session, _) = crate::open::opened(*opened).expect("it opens");
        let state = State::file("x".to_owned(), session);
        let editor = Editor::default();
        let mut desk = Self { editor, state, said: Vec::new() };
        desk.does(Edit::Toggle);
        desk
    }
    fn does(&mut self, edit: Edit) {
        let wishes = self.editor.update(edit, Some(&self.state));
        self.carry_out(wishes);
    }
    fn carry_out(&mut self, wishes: Vec<Wish>) {
        for wish in wishes {
            match wish {
                Wish::Ask(question, request) => {
                    let reply = Box::new(answered(&request));
                    self.does(Edit::Replied(question, reply));
                }
                Wish::Show(session, target) => {
                    let at = moment(&session, target);
                    self.state = State::file("x".to_owned(), *session);
                    self.state.session.go(at);
                }
                Wish::Say(words) => self.said.push(words),
                Wish::Go(op) => {
                    let at = moment(&self.state.session, Target::End(op as u32));
                    self.state.session.go(at);
                }
                Wish::Sandbox => panic!("there is a text"),
            }
        }
    }
    fn section(&self, table: &str) -> usize {
        let form = self.editor.form().expect("a form").0;
        form.sections.iter().position(|section| section.table == table).expect("it is there")
    }
    fn ops(&self) -> Vec<String> {
        let form = self.editor.form().expect("a form").0;
        let ops = form.sections.iter().filter(|section| section.table == "op");
        ops.map(|section| section.words.clone()).collect()
    }
    fn sent(&self) -> Vec<u64> {
        use folioscope_core::counters::Counter;
        let runs = self.state.session.runs().iter();
        runs.map(|run| run.total().get(Counter::DeviceWritten)).collect()
    }
}

#[test]
fn a_change_at_a_step_makes_b_and_keeps_a() {
    let mut desk = Desk::new(TEXT);
    assert_eq!(desk.sent(), [4096]);
    let place = desk.state.session.place();
    assert!(place.contains("submit_bio"), "{place}");
    desk.does(Edit::Change(Change::Set(desk.section("op") + 1, "len".into(), "12k".into())));
    assert_eq!(desk.sent(), [4096, 12288]);
    assert!(desk.state.session.place().ends_with("fsync, submit_bio"), "the step is held by cause");
    assert!(
        desk.editor.text.contains("len = \"12k\"") && desk.editor.text.starts_with("# A place")
    );
    desk.does(Edit::Undo);
    assert_eq!((desk.editor.text.as_str(), desk.sent()), (TEXT, vec![4096, 4096]));
    desk.does(Edit::Redo);
    assert_eq!(desk.sent(), [4096, 12288]);
    desk.does(Edit::KeepThis);
    assert_eq!(desk.sent(), [12288, 12288]);
    desk.does(Edit::Keep(Keep::Own));
    assert_eq!(desk.sent(), [12288]);
}

#[test]
fn what_is_wrong_is_said_at_once_and_nothing_is_run() {
    let mut desk = Desk::new(TEXT);
    let bad = TEXT.replace("20k", "20q");
    desk.does(Edit::Typed(bad, 0));
    let wrong = desk.editor.checked().and_then(|checked| checked.wrong.clone()).expect("wrong");
    assert_eq!((wrong.line, wrong.column), (22, 6));
    assert!(!desk.editor.is_shown() && desk.said.is_empty());
    desk.does(Edit::ToWrong);
    assert_eq!(desk.editor.caret, Some(wrong.place));
    desk.does(Edit::Typed(TEXT.replace("20k", "24k"), 0));
    assert!(desk.editor.is_shown() && desk.said.len() == 1, "{:?}", desk.said);
}

#[test]
fn a_stale_answer_is_never_shown() {
    let mut desk = Desk::new(TEXT);
    let first = desk.editor.update(Edit::Typed("x".to_owned(), 1), Some(&desk.state));
    assert_eq!(first.len(), 1);
    // The next text comes while the first is looked at: one question at a time.
    let next = TEXT.replace("20k", "8k");
    assert!(desk.editor.update(Edit::Typed(next, 1), Some(&desk.state)).is_empty());
    desk.carry_out(first);
    assert!(desk.editor.checked().expect("an answer").wrong.is_none());
    assert!(desk.editor.is_shown() && desk.editor.text.contains("8k"));
}

#[test]
fn changes_that_come_faster_than_the_form_wait_for_it() {
    let mut desk = Desk::new(TEXT);
    let op = desk.section("op") + 1;
    let step = || Edit::Change(Change::Step(op, "at".to_owned(), true));
    let wishes = desk.editor.update(step(), Some(&desk.state));
    for _ in 0..3 {
        assert!(desk.editor.update(step(), Some(&desk.state)).is_empty());
    }
    desk.carry_out(wishes);
    assert_eq!(desk.ops()[1], "pwrite 4k at 36k");
}

#[test]
fn operations_are_added_moved_and_taken_out() {
    let mut desk = Desk::new(TEXT);
    let first = desk.section("op");
    let keys = vec![("do", "\"pwrite\"".to_owned()), ("len", "\"4k\"".to_owned())];
    desk.does(Edit::Change(Change::Op(Some(1), keys.clone())));
    assert_eq!(desk.ops(), ["pread 64k at 0", "pwrite 4k at 0", "pwrite 4k at 20k", "fsync"]);
    let place = desk.state.session.place();
    assert!(place.starts_with("B: op 2 of 4"), "{place}");
    let steps = desk.state.session.steps();
    let op = steps.last().copied().flatten().and_then(|step| step.op).expect("one of an operation");
    assert_eq!(op.get(), 1, "the end of the new operation is shown, and no more");
    desk.does(Edit::Change(Change::Op(None, keys.clone())));
    desk.does(Edit::Change(Change::Op(Some(0), keys)));
    assert_eq!(desk.ops().len(), 6);
    assert_eq!(desk.ops()[0], "pwrite 4k at 0");
    desk.does(Edit::Change(Change::Delete(first)));
    desk.does(Edit::Change(Change::Move(first + 3, first)));
    let ops = desk.ops();
    assert_eq!(
        ops,
        ["fsync", "pread 64k at 0", "pwrite 4k at 0", "pwrite 4k at 20k", "pwrite 4k at 0"]
    );
    assert_eq!(desk.editor.selected, first);
    assert!(desk.editor.text.starts_with("# A place to try things"));
    desk.does(Edit::Select(first + 1));
    assert!(desk.state.session.place().starts_with("B: op 2 of"), "{}", desk.state.session.place());
}

#[test]
fn tables_are_added_and_a_key_without_a_value_is_gone() {
    let mut desk = Desk::new(TEXT);
    for table in ["array", "variant"] {
        desk.does(Edit::Change(Change::Add(table.to_owned())));
        assert!(desk.editor.is_shown(), "{:?}", desk.editor.checked().map(|c| &c.wrong));
    }
    let array = desk.section("array");
    desk.does(Edit::Change(Change::Step(array, "chunk".into(), false)));
    assert!(desk.editor.text.contains("chunk = \"32k\""));
    desk.does(Edit::Change(Change::Set(0, "profile".into(), String::new())));
    assert!(!desk.editor.text.contains("linux-6.18"));
    let variant = desk.section("variant");
    desk.does(Edit::Change(Change::Set(variant, "dirty_tracking".into(), "per-block".into())));
    assert!(desk.editor.text.contains("switches = { dirty_tracking = \"per-block\" }"));
    let section = &desk.editor.form().expect("a form").0.sections[variant];
    let switch = section.fields.iter().find(|field| field.key == "write_chunk").expect("a switch");
    assert_eq!((switch.usual.as_str(), switch.value.as_ref()), ("page", None));
    assert!(matches!(&switch.input, Input::Word(words) if words.len() == 3));
}

#[test]
fn with_another_operation_go_the_keys_that_it_does_not_take() {
    let mut desk = Desk::new(TEXT);
    let op = desk.section("op") + 1;
    let set = |word: &str| Edit::Change(Change::Set(op, "do".to_owned(), word.to_owned()));
    desk.does(set("pread"));
    assert_eq!(desk.ops()[1], "pread 4k at 20k");
    desk.does(set("fsync"));
    assert_eq!(desk.ops()[1], "fsync");
    assert!(desk.editor.checked().expect("an answer").wrong.is_none());
    let caret = desk.editor.caret.clone().expect("a place");
    assert_eq!(&desk.editor.text[caret], "\"fsync\"");
    // A word that is none takes nothing away.
    desk.does(Edit::Change(Change::Set(op - 1, "do".to_owned(), "preed".to_owned())));
    assert_eq!(desk.ops()[0], "preed 64k at 0");
    desk.does(Edit::Typed(
        TEXT.replace(
            "do = \"fsync\"",
            "do = \"fsync\"\n\n[array]\n\
        level = \"raid5\" # parity\nchunk = \"4k\"\nlayout = \"left-symmetric\"\nmembers = 4",
        ),
        0,
    ));
    let array = desk.section("array");
    desk.does(Edit::Change(Change::Set(array, "level".to_owned(), "raid1".to_owned())));
    assert!(desk.editor.text.ends_with("level = \"raid1\" # parity\nmembers = 4\n"));
    let inline = "[{ do = \"pwrite\", at = 0, len = \"4k\", byte = 1 }]";
    let (start, _) = TEXT.split_once("[[op]]").expect("operations");
    let text = start.replacen("version = 0", &format!("version = 0\nop = {inline}"), 1);
    desk.does(Edit::Typed(text, 0));
    let op = desk.section("op");
    desk.does(Edit::Change(Change::Set(op, "do".to_owned(), "fsync".to_owned())));
    assert!(desk.editor.checked().expect("an answer").wrong.is_none(), "{}", desk.editor.text);
    assert!(desk.editor.text.contains("op = [{ do = \"fsync\""), "{}", desk.editor.text);
}

#[test]
fn two_settings_are_compared_unless_one_is_kept() {
    let text = include_str!("../../../assets/scenarios/sub-page-dirty-tracking.toml");
    let mut desk = Desk::new(text);
    assert_eq!((desk.editor.keep, desk.editor.base().len()), (Keep::Own, 2));
    let before = desk.sent();
    desk.does(Edit::Keep(Keep::Was(1)));
    assert_eq!(desk.sent(), [before[1], before[1]]);
}
