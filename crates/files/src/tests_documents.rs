//! Documents and encodings, made by hand so that every odd byte in them is on purpose.

use crate::{Cancel, Files, FilesError, MAX_TEXT, ReadOptions, Reading, WriteOptions};
use std::io::{Cursor, Write as _};
use std::path::PathBuf;

struct Desk {
    allow: tempfile::TempDir,
    files: Files,
}

fn desk() -> Desk {
    let allow = tempfile::tempdir().unwrap();
    let files = Files::new(vec![allow.path().to_owned()], None);
    Desk { allow, files }
}

impl Desk {
    fn put(&self, name: &str, bytes: &[u8]) -> String {
        let path: PathBuf = self.allow.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn read_bytes(&self, bytes: &[u8]) -> Result<Reading, FilesError> {
        self.read_with(bytes, &ReadOptions::default())
    }

    fn read_with(&self, bytes: &[u8], options: &ReadOptions) -> Result<Reading, FilesError> {
        self.files.read(&self.put("file", bytes), options, Cancel::never())
    }
}

fn zipped(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn workbook(sheet: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let sheet = format!("<worksheet>{sheet}</worksheet>");
    let mut parts = vec![
        ("xl/workbook.xml", r#"<workbook xmlns:r="r"><sheets><sheet name="Data" r:id="rId1"/></sheets></workbook>"#),
        ("xl/_rels/workbook.xml.rels", r#"<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>"#),
        ("xl/worksheets/sheet1.xml", &sheet),
    ];
    parts.extend(more);
    zipped(&parts)
}

fn cell(reference: &str, text: &str) -> String {
    format!(r#"<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>"#)
}

#[test]
fn corners_of_a_sheet_and_wrong_dimensions() {
    let desk = desk();
    let corners = format!(
        r#"<dimension ref="A1:XFD1048576"/><sheetData><row r="1">{}</row><row r="1048576">{}</row></sheetData>"#,
        cell("A1", "first"),
        cell("XFD1048576", "last")
    );
    let reading = desk.read_bytes(&workbook(&corners, &[])).unwrap();
    assert!(reading.text.contains("first") && reading.text.contains("last") && reading.text.len() < 200, "{}", reading.text);
    assert_eq!((reading.sheets[0].rows, reading.sheets[0].columns), (1_048_576, 16_384));
    for dimension in [r#"<dimension ref="A0:B3"/>"#, "", r#"<dimension ref="A1:A1"/>"#, r#"<dimension ref="?"/>"#, "<dimension/>"] {
        let rows = format!("{dimension}<sheetData><row r=\"1\">{}{}</row></sheetData>", cell("A1", "alpha"), cell("B1", "bravo"));
        assert!(desk.read_bytes(&workbook(&rows, &[])).unwrap().text.contains("alpha\tbravo"), "{dimension}");
    }
    // Cells and rows without a reference follow each other.
    let rows = "<sheetData><row><c><v>1</v></c><c/><c><v>2</v></c></row><row/><row><c><v>3</v></c></row></sheetData>";
    assert_eq!(desk.read_bytes(&workbook(rows, &[])).unwrap().text, "=== Sheet: Data ===\n1\t\t2\n\n3\n");
}

#[test]
fn shared_strings_dates_and_formulas() {
    let desk = desk();
    let strings = r#"<sst count="99999999999" uniqueCount="99999999999"><si><t>plain &amp; simple</t></si><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>no</t></rPh></si><si/><si><t>a_x000D_b</t></si></sst>"#;
    let styles = r#"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy-mm-dd hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>"#;
    let rows = r#"<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>3</v></c></row>
        <row r="2"><c r="A2" s="1"><v>45292</v></c><c r="B2" s="2"><v>45292.5</v></c><c r="C2" t="b"><v>1</v></c><c r="D2" t="e"><v>#DIV/0!</v></c></row>
        <row r="3"><c r="A3"><f>A1+1</f></c><c r="B3" t="str"><f>X</f><v>made</v></c><c r="C3" t="s"><v>77</v></c></row></sheetData>"#;
    let book = workbook(rows, &[("xl/sharedStrings.xml", strings), ("xl/styles.xml", styles)]);
    let text = desk.read_bytes(&book).unwrap().text;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[1], "plain & simple\trich text\t\"a\rb\"");
    assert_eq!(lines[2], "2024-01-01\t2024-01-01 12:00:00\tTRUE\t#DIV/0!");
    assert_eq!(lines[3], "=A1+1\tmade");
    let other = ReadOptions { sheet: Some("Nope".into()), ..ReadOptions::default() };
    assert!(desk.read_with(&book, &other).unwrap_err().to_string().contains("Data"));
}

#[test]
fn documents_that_unfold_without_end_are_bounded() {
    let desk = desk();
    // A shared string of 140 MB in an archive of 140 kB; then a sheet of as much.
    let giant = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(140 << 20));
    let error = desk.read_bytes(&workbook("<sheetData/>", &[("xl/sharedStrings.xml", &giant)])).unwrap_err();
    assert!(matches!(error, FilesError::TooLarge { .. }), "{error}");
    drop(giant);
    let rows = r#"<row><c t="inlineStr"><is><t>some text in a cell</t></is></c></row>"#.repeat(2_500_000);
    let reading = desk.read_bytes(&workbook(&format!("<sheetData>{rows}</sheetData>"), &[])).unwrap();
    assert!(reading.truncated() && reading.total_is_minimum && reading.text.len() <= MAX_TEXT);
}

#[test]
fn broken_and_locked_documents_are_errors() {
    let desk = desk();
    let book = workbook("<sheetData><row>", &[]);
    assert!(desk.read_bytes(&book[..book.len() / 2]).is_err());
    assert!(desk.read_bytes(b"PK\x03\x04 and nothing more").is_err());
    assert!(matches!(desk.read_bytes(&zipped(&[("a.txt", "x")])), Err(FilesError::Binary { .. })));
    let mut outer = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    outer.create_stream("/EncryptedPackage").unwrap().write_all(&[0; 64]).unwrap();
    outer.flush().unwrap();
    let locked = outer.into_inner().into_inner();
    assert!(matches!(desk.read_bytes(&locked), Err(FilesError::Locked { .. })));
    for cut in [8, 100, 512, 1000] {
        assert!(desk.read_bytes(&locked[..cut]).is_err());
    }
}

fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(u16::try_from(data.len()).unwrap().to_le_bytes());
    bytes.extend(data);
    bytes
}

/// An xls with numbers at these places and this dimension record.
fn old_workbook(cells: &[(u16, u16, f64)], dimensions: &[u8]) -> Vec<u8> {
    let bof = |kind: u8| record(0x0809, &[0, 6, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let name = b"Old";
    let mut globals = bof(5);
    let start = u32::try_from(globals.len() + 4 + 8 + name.len() + 4).unwrap();
    let mut sheet = start.to_le_bytes().to_vec();
    sheet.extend([0, 0, 3, 0]);
    sheet.extend(name);
    globals.extend(record(0x0085, &sheet));
    globals.extend(record(0x000a, &[]));
    globals.extend(bof(0x10));
    globals.extend(record(0x0200, dimensions));
    for (row, column, value) in cells {
        let mut data = row.to_le_bytes().to_vec();
        data.extend(column.to_le_bytes());
        data.extend([0, 0]);
        data.extend(value.to_le_bytes());
        globals.extend(record(0x0203, &data));
    }
    globals.extend(record(0x000a, &[]));
    let mut outer = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    outer.create_stream("/Workbook").unwrap().write_all(&globals).unwrap();
    outer.flush().unwrap();
    outer.into_inner().into_inner()
}

#[test]
fn old_workbooks_are_read_and_their_claims_are_not_believed() {
    let desk = desk();
    let cells = [(0, 0, 1.0), (2, 1, 2.5)];
    let giant = [0u8, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 0, 0];
    let reading = desk.read_bytes(&old_workbook(&cells, &giant)).unwrap();
    assert_eq!((reading.format, reading.text.as_str()), ("xls", "=== Sheet: Old ===\n1\n\n\t2.5\n"));
    let many: Vec<_> = (0..600).map(|row| (row, 0, f64::from(row))).collect();
    assert!(desk.read_bytes(&old_workbook(&many, &giant)).unwrap().text.ends_with("\n599\n"), "larger than a small stream");
    let unpadded = old_workbook(&many, &giant);
    let end = unpadded.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    assert!(desk.read_bytes(&unpadded[..end]).is_ok(), "the last sector is not filled");
    let corners = [(0, 0, 1.0), (65_535, 255, 2.0)];
    assert!(matches!(desk.read_bytes(&old_workbook(&corners, &giant)), Err(FilesError::TooLarge { .. })));
}

#[test]
fn open_document_sheets() {
    let desk = desk();
    let content = r#"<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x"><office:body><office:spreadsheet>
        <table:table table:name="One"><table:table-row><table:table-cell><text:p>a<text:s text:c="2"/>b</text:p></table:table-cell>
        <table:table-cell table:number-columns-repeated="2"><text:p>twice</text:p><office:annotation><text:p>note</text:p></office:annotation></table:table-cell>
        <table:table-cell table:number-columns-repeated="16380"/></table:table-row>
        <table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
        <table:table-row><table:table-cell/><table:table-cell office:value="7"/></table:table-row></table:table>
        <table:table table:name="Two"><table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>z</text:p></table:table-cell></table:table-row></table:table>
        </office:spreadsheet></office:body></office:document-content>"#;
    let mime = ("mimetype", "application/vnd.oasis.opendocument.spreadsheet");
    let reading = desk.read_bytes(&zipped(&[mime, ("content.xml", content)])).unwrap();
    let start = "=== Sheet: One ===\na  b\ttwice\ttwice\n[rows 2-1048571 empty]\n\t7\n\n=== Sheet: Two ===\nz\tz\t";
    assert!(reading.text.starts_with(start), "{}", &reading.text[..200]);
    assert_eq!(reading.sheets.len(), 2);
    let one = ReadOptions { sheet: Some("One".into()), ..ReadOptions::default() };
    assert!(!desk.read_with(&zipped(&[mime, ("content.xml", content)]), &one).unwrap().text.contains("Two"));
    let manifest = ("META-INF/manifest.xml", "<manifest><encryption-data/></manifest>");
    let locked = zipped(&[mime, ("content.xml", "x"), manifest]);
    assert!(matches!(desk.read_bytes(&locked), Err(FilesError::Locked { .. })));
}

#[test]
fn a_word_document_keeps_links_cells_boxes_and_notes() {
    let desk = desk();
    let p = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let row = |a: &str, b: &str| format!("<w:tr><w:tc>{}</w:tc><w:tc>{}{}</w:tc></w:tr>", p(a), p(b), p("more"));
    let boxed = format!("<w:txbxContent>{}</w:txbxContent>", p("boxed"));
    let body = format!(
        "<w:document xmlns:w='w' xmlns:mc='m'><w:body><w:p><w:pPr><w:pStyle w:val='Heading2'/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>\
         <w:p><w:r><w:t>before </w:t></w:r><w:hyperlink><w:r><w:t>linked</w:t></w:r></w:hyperlink><w:r><w:tab/><w:t>after &#x41;&amp;B</w:t></w:r></w:p>\
         <w:tbl>{}{}</w:tbl>\
         <w:p><w:r><w:t>kept </w:t></w:r><w:del><w:r><w:delText>struck</w:delText></w:r></w:del><w:ins><w:r><w:t>added</w:t></w:r></w:ins><w:r><w:footnoteReference w:id='2'/></w:r></w:p>\
         <w:p><w:r><mc:AlternateContent><mc:Choice>{boxed}</mc:Choice><mc:Fallback>{boxed}</mc:Fallback></mc:AlternateContent></w:r></w:p>\
         <w:p><w:pPr><w:numPr><w:ilvl/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p></w:body></w:document>",
        row("one", "two"),
        row("three", "four")
    );
    let notes = "<w:footnotes><w:footnote w:type='separator'><w:p/></w:footnote><w:footnote w:id='2'><w:p><w:r><w:t>the note</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let reading = desk.read_bytes(&zipped(&[("word/document.xml", &body), ("word/footnotes.xml", notes)])).unwrap();
    let wanted = "## Head\nbefore linked\tafter A&B\none\ttwo more\nthree\tfour more\nkept added[^2]\nboxed\n\n- item\n\nFootnotes:\n[^2]: the note\n";
    assert_eq!(reading.text, wanted);
}

#[test]
fn text_in_any_encoding_comes_back_the_same() {
    let desk = desk();
    for (text, label) in [
        ("\u{feff}one\r\ntwo 漢\n", "utf-8"),
        ("明天下午开会，请准时参加。\r\n".repeat(3000).as_str(), "gbk"),
        ("会議は木曜日の午後です。カタカナ\n".repeat(9000).as_str(), "shift_jis"),
        ("\u{feff}Überall schön, naïve 😀\n".repeat(9000).as_str(), "utf-16le"),
        ("Ça coûte très cher, déjà vu\n", "windows-1252"),
        ("日本語テキスト\n".repeat(500).as_str(), "iso-2022-jp"),
    ] {
        let path = desk.put("file", b"");
        let write = WriteOptions { create_folders: false, encoding: Some(label.into()) };
        desk.files.write(&path, text, &write, Cancel::never()).unwrap();
        let raw = std::fs::read(&path).unwrap();
        let (mut all, mut offset, mut rounds) = (String::new(), Some(0), 0);
        while let Some(from) = offset {
            let options = ReadOptions { offset: from, limit: 7777, ..ReadOptions::default() };
            let reading = desk.files.read(&path, &options, Cancel::never()).unwrap();
            assert!(reading.text.len() <= 7777 && reading.replaced == 0);
            assert_eq!(reading.encoding.as_deref().unwrap(), label);
            assert_eq!(reading.total_bytes, raw.len() as u64);
            all.push_str(&reading.text);
            offset = reading.next_offset;
            rounds += 1;
        }
        assert!(all == text, "{label} in {rounds} rounds");
        desk.files.write(&path, &all, &write, Cancel::never()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), raw, "{label}");
    }
    let lacks = WriteOptions { create_folders: false, encoding: Some("latin1".into()) };
    let error = desk.files.write(&desk.put("file", b"old"), "a漢", &lacks, Cancel::never()).unwrap_err();
    assert!(error.to_string().contains('漢'), "{error}");
}

#[test]
fn damaged_text_says_so_and_offsets_are_checked() {
    let desk = desk();
    let mut bytes = "größer und schöner als früher".repeat(10).into_bytes();
    bytes[2] = 0xff;
    let reading = desk.read_bytes(&bytes).unwrap();
    assert!(reading.replaced > 0 && reading.encoding_guessed && reading.text.contains('\u{fffd}'));
    let far = ReadOptions { offset: 10_000, ..ReadOptions::default() };
    assert!(matches!(desk.read_with(b"short", &far), Err(FilesError::InvalidArgument { name: "offset", .. })));
    let end = ReadOptions { offset: 5, ..ReadOptions::default() };
    assert_eq!(desk.read_with(b"short", &end).unwrap().text, "");
    let wrong = ReadOptions { encoding: Some("klingon".into()), ..ReadOptions::default() };
    assert!(desk.read_with(b"short", &wrong).is_err());
    let large = "0123456789abcdef".repeat(40_000);
    let reading = desk.read_bytes(large.as_bytes()).unwrap();
    assert_eq!((reading.text.len(), reading.next_offset, reading.total_bytes), (MAX_TEXT, Some(MAX_TEXT as u64), 640_000));
}
