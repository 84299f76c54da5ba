"""EmailFeatures: what each group reads, what scikit-learn expects, what hostile mail may not do."""

from __future__ import annotations

import base64
import email
import pickle
import sys
import tracemalloc
from email import policy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer.maps
from mercer import KernelPerceptron, Linear
from mercer.maps import EmailFeatures
from mercer.maps.email import groups
from mercer.maps.email.features import BODY_GROUPS, HEADER_GROUPS
from mercer.maps.email.reading import Limits, codec, decode_field, read_mail

LETTER = b"""From ann@uni.example  Tue Jan  3 14:17:47 2012\r
Return-Path: <bounce@list.example>\r
Received: from mail.uni.example (mail.uni.example [192.0.2.7])\r
\tby mx.home.example with ESMTP id 1; Tue, 3 Jan 2012 14:17:50 -0800\r
Received: from [IPv6:2001:db8::1] by mail.uni.example; Tue, 3 Jan 2012 14:17:48 -0800\r
From: =?utf-8?q?Ann_M=C3=BCller?= <Ann@cs.uni.example>\r
To: Bob <bob@home.example>, carl@home.example\r
Subject: =?iso-8859-1?b?R3L832U=?= from Ann\r
Date: Tue, 3 Jan 2012 14:17:47 -0800\r
X-Mailer: Pine 4.2\r
MIME-Version: 1.0\r
Content-Type: multipart/mixed; boundary="=_x"\r
\r
This is no part.\r
--=_x\r
Content-Type: text/plain; charset=iso-8859-1\r
Content-Transfer-Encoding: quoted-printable\r
\r
Gr=FC=DFe, see http://www.Uni.example:80/paper now, see it now\r
--=_x\r
Content-Type: text/html; charset=utf-8\r
Content-Transfer-Encoding: base64\r
\r
%s\r
--=_x\r
Content-Type: application/zip; name="a.b.ZIP"\r
Content-Transfer-Encoding: base64\r
\r
UEsDBA==\r
--=_x--\r
behind\r
""" % base64.encodebytes(
    b"<HTML><font color=red>win&nbsp;$100!</font> <a href='http://10.1.2.3/x'>go</a></HTML>"
)


def features(message, *names, **parameters):
    """Features of one message, without the group, as a dict of counts."""
    phi = EmailFeatures(names, weighting="count", norm=None, **parameters)
    row = phi.fit_transform([message]).toarray()[0]
    found = [name.split("=", 1)[1] for name in phi.get_feature_names_out()]
    return dict(zip(found, row, strict=True))


def test_words_of_text_and_html():
    words = features(LETTER, "words")
    assert words["grüße"] == 1
    assert words["see"] == words["now"] == 2
    assert words["$100!"] == words["win"] == words["<font>"] + words["<html>"] - 3 == 1
    assert not {"behind", "part", "red"} & set(words)  # outside the parts, or inside a tag


def test_pairs_are_words_in_a_row():
    found = features("Subject: x\n\nto be or not to be", "pairs")
    assert found == {"to be": 2, "be or": 1, "or not": 1, "not to": 1}


def test_date_and_time():
    assert features(LETTER, "date") == dict.fromkeys(
        ("hour:14", "weekday:Tue", "zone:-0800", "readable"), 1
    )
    assert features("A: b\n\n", "date") == {"none": 1}
    for wrong in ("tomorrow", "99 99 9999", "Tue, 31 Feb 2012 25:61:61 +9999", "\x00", "9" * 3000):
        assert features(f"Date: {wrong}\n\n", "date") == {"unreadable": 1}


def test_path_and_numbers():
    path = features(LETTER, "path")
    assert path["hops:2"] == path["by:mx.home.example"] == path["for:bob@home.example"] == 1
    assert path["from:mail.uni.example"] == path["by:mail.uni.example"] == 1
    assert path["domain:uni.example"] == path["for:@home.example"] == 2
    numbers = set(features(LETTER, "ip"))
    assert numbers == {
        "192.0.2.7", "192.0.2.*", "192.0.*", "2001:db8::1", "2001:db8::/64"
    }  # fmt: skip
    strange = "Received: from x ([300.1.1.1] 1.2.3.4.5 [IPv6:::::])\n\n"
    assert features(strange, "ip") == {"unreadable": 1}


def test_sender():
    found = set(features(LETTER, "sender"))
    assert {"from:ann@cs.uni.example", "domain:uni.example", "other domain"} <= found
    assert {"return-path:bounce@list.example", "no reply-to", "name:müller"} <= found
    assert "same domain" in features("From: a@b.c\nReturn-Path: <z@b.c>\n\n", "sender")


def test_subject_encoding_and_headers():
    assert {"grüße", "from ann"} <= set(features(LETTER, "subject"))
    assert "in capitals" in features("Subject: FREE\n\n", "subject")
    assert features("A: b\n\n", "subject") == {"none": 1}
    encoding = features(LETTER, "encoding")
    assert encoding["type:text/plain"] == encoding["ending:zip"] == encoding["charset:utf-8"] == 1
    assert encoding["transfer:base64"] == 2
    assert not any(name.startswith("fault") for name in encoding)
    assert {"x-mailer", "mailer:pine", "received"} <= set(features(LETTER, "headers"))


def test_links():
    found = features(LETTER, "links")
    assert found["domain:www.uni.example"] == found["numeric host"] == 1
    assert found["scheme:http"] == 2
    tricky = "\n\nhttp://good.example@bad.example/ HTTPS://[::1]/ mailto:a@b.example http://"
    assert {"domain:bad.example", "domain:b.example", "scheme:https"} <= set(
        features("A: b" + tricky, "links")
    )


def test_bytes_text_and_objects_give_the_same():
    expected = features(LETTER, *groups.GROUPS)
    assert features(LETTER.decode("latin-1"), *groups.GROUPS) == expected
    assert features(email.message_from_bytes(LETTER), *groups.GROUPS) == expected
    modern = email.message_from_bytes(LETTER, policy=policy.default)
    assert features(modern, "words", "links") == features(LETTER, "words", "links")
    assert features(LETTER.replace(b"\r\n", b"\n"), *groups.GROUPS) == expected


def test_a_message_within_a_message_is_read():
    outer = b"Content-Type: message/rfc822\n\nSubject: in\nContent-Type: text/plain\n\ninside"
    assert features(outer, "words") == {"inside": 1}
    assert features(email.message_from_bytes(outer), "words") == {"inside": 1}


# --- the transformer -------------------------------------------------------------------------

SPAM = [f"From: x@shop{i}.example\nSubject: SALE\n\nbuy cheap pills now {i}" for i in range(8)]
HAM = [f"From: ann@uni.example\nSubject: lunch\n\nsee you at noon {i}" for i in range(8)]
MAIL, Y = SPAM + HAM, ["spam"] * 8 + ["ham"] * 8


def test_columns_are_named_sorted_and_independent_of_the_order_of_messages():
    phi = EmailFeatures().fit(MAIL)
    names = phi.get_feature_names_out()
    assert list(phi.vocabulary_) == list(names)
    assert len(set(names)) == len(names) == phi.transform(MAIL).shape[1]
    order = [name.split("=")[0] for name in names]
    assert list(dict.fromkeys(order)) == [g for g in groups.GROUPS if g in order]
    assert list(EmailFeatures().fit(MAIL[::-1]).get_feature_names_out()) == list(names)


def test_fit_transform_is_fit_and_transform_and_unseen_features_are_left_out():
    for options in ({}, {"min_df": 3}, {"max_features": 5, "norm": "row"}, {"weighting": "binary"}):
        phi = EmailFeatures(**options)
        X = phi.fit_transform(MAIL)
        assert isinstance(X, sparse.csr_matrix)
        assert X.dtype == np.float64
        assert X.indices.dtype == np.int32
        assert X.has_sorted_indices
        np.testing.assert_array_equal(X.toarray(), phi.transform(MAIL).toarray())
    assert EmailFeatures(("words",)).fit(MAIL).transform(["A: b\n\nunheard"]).nnz == 0


def test_min_df_and_max_features_keep_what_many_have():
    words = EmailFeatures(("words",), min_df=9).fit(MAIL + ["A: b\n\nnoon"]).get_feature_names_out()
    assert list(words) == ["words=noon"]
    assert len(EmailFeatures(max_features=7).fit(MAIL).vocabulary_) == 7


def test_weights_and_lengths():
    mail = ["Subject: s\n\na a a b"]
    weigh = {
        w: EmailFeatures(("words",), weighting=w, norm=None).fit_transform(mail).toarray()[0]
        for w in ("count", "binary", "log")
    }
    np.testing.assert_allclose(weigh["count"], [3, 1])
    np.testing.assert_allclose(weigh["binary"], [1, 1])
    np.testing.assert_allclose(weigh["log"], [1 + np.log(3), 1])
    X = EmailFeatures(("words", "subject")).fit_transform(mail)
    assert X.power(2).sum() == pytest.approx(2)  # one for each group
    X = EmailFeatures(("words", "subject"), norm="row").fit_transform(mail)
    assert X.power(2).sum() == pytest.approx(1)


def test_groups_are_columns_of_the_whole():
    whole = EmailFeatures()
    X = whole.fit_transform(MAIL)
    for some in (BODY_GROUPS, HEADER_GROUPS):
        part = EmailFeatures(some)
        Z = part.fit_transform(MAIL)
        columns = [whole.vocabulary_[name] for name in part.get_feature_names_out()]
        np.testing.assert_allclose(X[:, columns].toarray(), Z.toarray())
    assert set(BODY_GROUPS) | set(HEADER_GROUPS) == set(groups.GROUPS)


def test_clone_pickle_pipeline_and_grid_search():
    phi = clone(EmailFeatures(("words", "sender"), min_df=2))
    assert phi.get_params()["groups"] == ("words", "sender")
    again = pickle.loads(pickle.dumps(phi.fit(MAIL)))
    assert (again.transform(MAIL) != phi.transform(MAIL)).nnz == 0
    pipe = make_pipeline(EmailFeatures(), KernelPerceptron(Linear(), averaging="average"))
    grid = {"emailfeatures__groups": [("date",), ("words",)], "emailfeatures__min_df": [1, 2]}
    search = GridSearchCV(pipe, grid, cv=2).fit(MAIL, Y)
    assert search.best_params_["emailfeatures__groups"] == ("words",)
    assert search.score(MAIL, Y) == 1.0
    assert list(search.predict(["A: b\n\ncheap pills", "A: b\n\nat noon"])) == ["spam", "ham"]


def test_arrays_and_columns_of_messages():
    expected = EmailFeatures().fit_transform(MAIL).toarray()
    column = np.array(MAIL, dtype=object)
    np.testing.assert_array_equal(EmailFeatures().fit_transform(column).toarray(), expected)
    np.testing.assert_array_equal(
        EmailFeatures().fit_transform(column[:, None]).toarray(), expected
    )
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"mail": MAIL})
    np.testing.assert_array_equal(EmailFeatures().fit_transform(frame["mail"]).toarray(), expected)
    np.testing.assert_array_equal(EmailFeatures().fit_transform(frame).toarray(), expected)
    np.testing.assert_array_equal(
        EmailFeatures().fit_transform([bytearray(m.encode()) for m in MAIL]).toarray(), expected
    )


@pytest.mark.parametrize(
    ("parameters", "X", "error", "words"),
    [
        ({}, "A: b\n\nc", TypeError, "a single one"),
        ({}, b"A: b\n\nc", TypeError, "a single one"),
        ({}, [], ValueError, "0 sample"),
        ({}, ["A: b", None], TypeError, "row 1 is no message but NoneType"),
        ({}, np.zeros((3, 2)), ValueError, "shape"),
        ({"groups": ("word",)}, MAIL, ValueError, "'words'"),
        ({"groups": "words"}, MAIL, TypeError, "a list of such"),
        ({"min_df": 99}, MAIL, ValueError, "no feature is left"),
    ],
)
def test_bad_parameters_and_rows_are_named(parameters, X, error, words):
    with pytest.raises(error, match=words):
        EmailFeatures(**parameters).fit(X)


def test_the_name_is_exported():
    assert "EmailFeatures" in mercer.maps.__all__
    assert "EmailFeatures" in dir(mercer.maps)


# --- hostile mail ----------------------------------------------------------------------------


def nested(depth, filler=b""):
    """Multiparts within multiparts, a word in the innermost."""
    opening = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n%s\n--b%d\n" % (i, filler, i)
        for i in range(depth)
    )
    closing = b"".join(b"\n--b%d--\n" % i for i in reversed(range(depth)))
    return opening + b"Content-Type: text/plain\n\ninnermost" + closing


def faults(message, **parameters):
    return EmailFeatures(**parameters).read(message).faults


def read_and_peak(message, **parameters):
    """What was read, and the bytes it took at the most."""
    phi = EmailFeatures(**parameters)
    tracemalloc.start()
    try:
        return phi.read(message), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_parts_a_thousand_deep():
    assert features(nested(15), "words") == {"innermost": 1}
    assert faults(nested(15)) == []
    for depth in (1000, 20_000):
        assert faults(nested(depth)) == ["deep parts"]
    assert len(EmailFeatures(max_depth=0).read(nested(5)).kinds) == 1
    # as objects, too: made by hand, because the standard parser does not get that far
    message = email.message.Message()
    for _ in range(1000):
        outer = email.message.Message()
        outer["Content-Type"] = "multipart/mixed"
        outer.attach(message)
        message = outer
    assert faults(message) == ["deep parts"]
    chain = b"Content-Type: message/rfc822\n\n" * 5000 + b"word"
    assert faults(chain) == ["deep parts"]


def test_many_parts():
    part = b"--b\nContent-Type: text/plain\n\nword\n"
    mail = b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 100_000 + b"--b--"
    assert "many parts" in faults(mail)
    assert features(mail, "words", max_parts=10)["word"] == 9
    bare = email.message_from_bytes(b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 300)
    assert "many parts" in faults(bare)


def test_a_large_attachment_is_passed_over_and_the_text_behind_it_read():
    head = (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/x; name=a.exe"
    )
    tail = b"\n--b\nContent-Type: text/plain\n\nafterwards\n--b--\n"
    line = b"QUJD" * 19 + b"\n"
    mail = head + b"\nContent-Transfer-Encoding: base64\n\n" + line * 700_000 + tail
    assert len(mail) > 50_000_000
    found, peak = read_and_peak(mail)
    assert found.text.strip() == "afterwards"
    assert "ending:exe" in found.kinds
    assert peak < 300_000


@pytest.mark.parametrize(
    "transfer", ["base64", "quoted-printable", "8bit", "no such", "x-uuencode"]
)
def test_long_text_is_cut_before_it_is_decoded(transfer):
    mail = b"Content-Type: text/plain\nContent-Transfer-Encoding: %s\n\n" % transfer.encode()
    mail += b"d29yZCB3b3JkIHdv\n" * 1_000_000
    found, peak = read_and_peak(mail, max_text=1000)
    assert len(found.text) == 1000
    assert found.faults == ["long text"]
    assert peak < 1_000_000


def test_huge_headers():
    many = b"".join(b"To: a%d@b.example\n" % i for i in range(100_000)) + b"\nbody"
    found = EmailFeatures().read(many)
    assert found.text == "body"
    assert found.faults == ["long header", "many fields"]
    long = b"Subject: " + b"x" * 10_000_000 + b"\n\nbody"
    found, peak = read_and_peak(long, max_header=100)
    assert peak < 300_000
    assert found.text == "body"
    assert len(found.all("subject")[0]) == 100
    assert found.faults == ["long header", "long field"]
    assert EmailFeatures().read(b"A" * 5_000_000).fields == []


@pytest.mark.parametrize(
    "piece",
    ["=?a?q?x", "(", "<", "<a ", "&#9", "&", "http://", "a@", "@", "1.", "1.1.1.1", "from ", ";",
     "\\", '"', "=?", "--", "a=b;", "\ud800", chr(0xDC80), "\0", "-", "'", "\n ", "é", "*0*=x;"],
)  # fmt: skip
def test_repetition_costs_no_more_than_reading(piece):
    """Each of these makes a careless pattern or parser recurse, or take the square of the time."""
    text = piece * (60_000 // len(piece))
    mail = "".join(f"{name}: {text}\n" for name in
                   ("Subject", "From", "To", "Date", "Received", "X-Mailer",
                    "Content-Transfer-Encoding"))  # fmt: skip
    for kind in ("plain", "html", f"plain; {text}", "plain; charset=" + text):
        EmailFeatures().fit([f"{mail}Content-Type: text/{kind}\n\n{text}"])


@pytest.mark.parametrize("boundary", ["", '""', "a" * 5000, ".*", "(((", "é", "\udc80", "--"])
def test_odd_boundaries(boundary):
    mail = (
        f"Content-Type: multipart/mixed; boundary={boundary}\n\n--{boundary}\n\nhi\n--{boundary}--"
    )
    EmailFeatures().fit([mail])
    assert features("Content-Type: multipart/mixed\n\n\nhi", "words") == {"hi": 1}
    assert faults("Content-Type: multipart/mixed; boundary=b\n\nhi") == ["no parts"]
    assert faults("Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhi") == ["no end of parts"]


@pytest.mark.parametrize(
    "charset", ["utf-8", "klingon", "idna", "punycode", "zlib", "rot13", "hex", "undefined",
                "utf-16", "unicode_escape", "../../x", "utf-7", "euc-kr", "x" * 5000, "", "\0"]
)  # fmt: skip
def test_broken_encodings(charset):
    head = f"Content-Type: text/plain; charset={charset}\nSubject: =?{charset}?b?/////w=?= hi\n\n"
    known = len(sys.modules["encodings"]._cache)
    assert isinstance(features(head.encode() + b"\xff\xfe\x80 ok \xc3", "words", "subject"), dict)
    if codec(charset) is None:
        assert len(sys.modules["encodings"]._cache) == known  # nothing is remembered for ever


def test_codecs_are_texts_or_nothing():
    assert codec("ISO-8859-15")
    assert codec("Windows-1252")
    assert codec("KOI8-R")
    assert codec("idna") is codec("unicode_escape") is codec("no such") is None
    assert decode_field("=?utf-8?q?=C3=BC?= x") == "ü x"
    assert decode_field("=?zlib?b?YWJj?=") == "abc"


def test_malformed_fields():
    assert features("no header at all", "words") == dict.fromkeys(("no", "header", "at", "all"), 1)
    assert features("\n\nbody", "words") == features("\r\nbody", "words") == {"body": 1}
    found = EmailFeatures().read("Subject: one\nand two\nFrom: a@b.c\n\nbody")
    assert (found.all("subject")[0].split(), found.text) == (["one", "and", "two"], "body")
    assert found.faults == ["unfolded header"]
    broken = "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\naGVsb"
    assert faults(broken) == ["broken base64"]
    assert features(broken, "words") == {"hel": 1}
    number = "Content-Type: text/html\n\nhidden<p>&#" + "9" * 5000 + ";"
    assert features(number, "words")["hidden"] == 1
    for empty in (b"", "", b"\n", b"From ", b"From x", b"\0", email.message.Message()):
        assert EmailFeatures().fit([empty]).transform([empty]).shape[0] == 1


def test_a_fault_in_one_group_spares_the_others(monkeypatch):
    def broken(mail):
        yield "before"
        raise RecursionError("deep")

    monkeypatch.setitem(groups.GROUPS, "headers", broken)
    phi = EmailFeatures(("words", "headers", "encoding")).fit(MAIL)
    names = set(phi.get_feature_names_out())
    assert {"headers=before", "words=noon", "encoding=fault:headers RecursionError"} <= names

    def out_of_memory(mail):
        raise MemoryError
        yield

    monkeypatch.setitem(groups.GROUPS, "headers", out_of_memory)
    with pytest.raises(MemoryError):
        phi.transform(MAIL)


def test_a_fault_in_reading_leaves_an_empty_row(monkeypatch):
    phi = EmailFeatures().fit(MAIL)
    monkeypatch.setattr("mercer.maps.email.reading._describe", lambda *_: 1 / 0)
    assert read_mail(MAIL[0], Limits()).faults == ["unreadable ZeroDivisionError"]
    assert phi.transform(MAIL).shape == (16, len(phi.vocabulary_))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_anything_at_all(data):
    """Random bytes, and the letter with random damage."""
    raw = bytearray(LETTER)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(raw)))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    messages = [bytes(raw), raw.decode("latin-1"), data.draw(st.binary()), data.draw(st.text())]
    X = EmailFeatures().fit_transform([*messages, email.message_from_bytes(bytes(raw))])
    assert X.shape[0] == 5
    assert np.isfinite(X.data).all()
