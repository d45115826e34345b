from s2s.transforms.frontend import given_texts


def test_the_newest_text_of_a_name_comes_first(monkeypatch):
    monkeypatch.setattr(given_texts, "_given", {})
    assert given_texts.given("<string>") == []
    for name in ("<a>", "<b>", "<a>"):
        given_texts.add("<string>", name, [name])
    assert given_texts.given("<string>") == [("<a>", ["<a>"]), ("<b>", ["<b>"])]
    assert given_texts.given("<stdin>") == []


def test_a_text_has_the_same_name_in_every_process():
    assert given_texts.own_name("<string>", "x = 1\n") == "<string 9e26bf36>"
    assert given_texts.own_name("<string>", "x = 2\n") != "<string 9e26bf36>"
    assert given_texts.own_name("<stdin>", "'\ud800'").startswith("<stdin ")
