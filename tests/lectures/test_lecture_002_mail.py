"""Lecture 002: feature engineering for spam filtering, on the header that the lecture prints."""

from __future__ import annotations

import pytest

from mercer.maps import EmailFeatures

# As printed: the slide has lost the indentation of continued lines, and the blank line before the
# first part; it ends where the text would begin.
HEADER = """\
Delivered-To: alex.smola@gmail.com
Received: by 10.216.47.73 with SMTP id s51cs361171web;
Tue, 3 Jan 2012 14:17:53 -0800 (PST)
Received: by 10.213.17.145 with SMTP id s17mr2519891eba.147.1325629071725;
Tue, 03 Jan 2012 14:17:51 -0800 (PST)
Return-Path: <alex+caf_alex.smola@gmail.com@smola.org>
Received: from mail-ey0-f175.google.com (mail-ey0-f175.google.com [209.85.215.175])
by mx.google.com with ESMTPS id n4si29264232eef.57.2012.01.03.14.17.51
(version=TLSv1/SSLv3 cipher=OTHER);
Tue, 03 Jan 2012 14:17:51 -0800 (PST)
Received-SPF: neutral (google.com: 209.85.215.175 is neither permitted nor denied by best
guess record for domain of alex+caf_alex.smola@gmail.com@smola.org) client-
ip=209.85.215.175;
Authentication-Results: mx.google.com; spf=neutral (google.com: 209.85.215.175 is neither
permitted nor denied by best guess record for domain of alex
+caf_alex.smola@gmail.com@smola.org) smtp.mail=alex+caf_alex.smola@gmail.com@smola.org;
dkim=pass (test mode) header.i=@googlemail.com
Received: by ea11 with SMTP id l1so15092746eaa.6
for <alex.smola@gmail.com>; Tue, 03 Jan 2012 14:17:51 -0800 (PST)
Received: by 10.205.135.18 with SMTP id ie18mr5325064bkc.72.1325629071362;
Tue, 03 Jan 2012 14:17:51 -0800 (PST)
X-Forwarded-To: alex.smola@gmail.com
X-Forwarded-For: alex@smola.org alex.smola@gmail.com
Delivered-To: alex@smola.org
Received: by 10.204.65.198 with SMTP id k6cs206093bki;
Tue, 3 Jan 2012 14:17:50 -0800 (PST)
Received: by 10.52.88.179 with SMTP id bh19mr10729402vdb.38.1325629068795;
Tue, 03 Jan 2012 14:17:48 -0800 (PST)
Return-Path: <althoff.tim@googlemail.com>
Received: from mail-vx0-f179.google.com (mail-vx0-f179.google.com [209.85.220.179])
by mx.google.com with ESMTPS id dt4si11767074vdb.93.2012.01.03.14.17.48
(version=TLSv1/SSLv3 cipher=OTHER);
Tue, 03 Jan 2012 14:17:48 -0800 (PST)
Received-SPF: pass (google.com: domain of althoff.tim@googlemail.com designates
209.85.220.179 as permitted sender) client-ip=209.85.220.179;
Received: by vcbf13 with SMTP id f13so11295098vcb.10
for <alex@smola.org>; Tue, 03 Jan 2012 14:17:48 -0800 (PST)
DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;
d=googlemail.com; s=gamma;
h=mime-version:sender:date:x-google-sender-auth:message-id:subject
:from:to:content-type;
bh=WCbdZ5sXac25dpH02XcRyD0dts993hKwsAVXpGrFh0w=;
b=WK2B2+ExWnf/gvTkW6uUvKuP4XeoKnLJq3USYtm0RARK8dSFjy0QsIHeAP9Yssxp60
7ngGoTzYqd+ZsyJfvQcLAWp1PCJhG8AMcnqWkx0NMeoFvIp2HQooZwxSOCx5ZRgY+7qX
uIbbdna4lUDXj6UFe16SpLDCKpdt80Z3gr7+o=
MIME-Version: 1.0
Received: by 10.220.108.81 with SMTP id e17mr24104004vcp.67.1325629067787;
Tue, 03 Jan 2012 14:17:47 -0800 (PST)
Sender: althoff.tim@googlemail.com
Received: by 10.220.17.129 with HTTP; Tue, 3 Jan 2012 14:17:47 -0800 (PST)
Date: Tue, 3 Jan 2012 14:17:47 -0800
X-Google-Sender-Auth: 6bwi6D17HjZIkx0Eol38NZzyeHs
Message-ID: <CAFJJHDGPBW+SdZg0MdAABiAKyDk9tpeMoDijYGjoGO-WC7osg@mail.gmail.com>
Subject: CS 281B. Advanced Topics in Learning and Decision Making
From: Tim Althoff <althoff@eecs.berkeley.edu>
To: alex@smola.org
Content-Type: multipart/alternative; boundary=f46d043c7af4b07e8d04b5a7113a
--f46d043c7af4b07e8d04b5a7113a
Content-Type: text/plain; charset=ISO-8859-1
"""


def features(*groups: str) -> set[str]:
    phi = EmailFeatures(groups).fit([HEADER])
    return {str(name).split("=", 1)[1] for name in phi.get_feature_names_out()}


def test_the_lecture_s_header_is_read_as_printed():
    """002, 284-342: every field is found, though the lines are not indented any more."""
    mail = EmailFeatures().read(HEADER)
    names = [name for name, _ in mail.fields]
    assert names.count("received") == 11
    assert names.count("delivered-to") == names.count("return-path") == 2
    assert names.count("received-spf") == 2
    assert names[-4:] == ["subject", "from", "to", "content-type"]
    assert mail.faults == ["unfolded header", "no end of parts"]
    assert mail.kinds == [
        "type:multipart/alternative",
        "type:text/plain",
        "charset:iso-8859-1",
    ]


def test_date_and_time():
    """002, 334 and 348: Tue, 3 Jan 2012 14:17:47 -0800."""
    assert features("date") == {"readable", "hour:14", "weekday:Tue", "zone:-0800"}


def test_recipient_path():
    """002, 285-333 and 349: eleven hops, back to where it was written, and whom it was for."""
    path = features("path")
    assert {"hops:11", "by:mx.google.com", "domain:google.com"} <= path
    assert {"from:mail-ey0-f175.google.com", "from:mail-vx0-f179.google.com"} <= path
    assert {"by:ea11", "by:vcbf13"} <= path
    assert {"for:alex.smola@gmail.com", "for:alex@smola.org"} <= path


def test_ip_numbers():
    """002, 285-333 and 350: the numbers of all hosts on the way."""
    whole = {number for number in features("ip") if "*" not in number}
    assert whole == {
        "10.216.47.73",
        "10.213.17.145",
        "209.85.215.175",
        "10.205.135.18",
        "10.204.65.198",
        "10.52.88.179",
        "209.85.220.179",
        "10.220.108.81",
        "10.220.17.129",
    }
    assert {"209.85.*", "209.85.220.*"} <= features("ip")


def test_sender():
    """002, 332-338 and 351: who says he wrote it, and who sent it."""
    sender = features("sender")
    assert {"from:althoff@eecs.berkeley.edu", "domain:berkeley.edu", "domain:edu"} <= sender
    assert {"sender:althoff.tim@googlemail.com", "return-path:althoff.tim@googlemail.com"} <= sender
    assert {"name:tim", "name:althoff", "other domain"} <= sender


def test_encoding():
    """002, 340-342 and 352: alternatives, the first one plain text in ISO-8859-1."""
    assert {
        "type:multipart/alternative",
        "type:text/plain",
        "charset:iso-8859-1",
    } <= features("encoding")


def test_words_and_pairs_of_the_subject():
    """002, 337 and 346-347: words and pairs of words."""
    subject = features("subject")
    assert {"cs", "281b", "advanced", "learning", "advanced topics", "decision making"} <= subject


@pytest.mark.parametrize(
    ("group", "text", "feature"),
    [
        ("words", "bag of words", "bag"),
        ("pairs", "pairs of words", "of words"),
        ("links", "see http://alex.smola.org/teaching", "domain:alex.smola.org"),
    ],
)
def test_the_body_s_features(group, text, feature):
    """002, 346-347 and 353: words, pairs of words and links; the slide shows no body."""
    phi = EmailFeatures((group,)).fit([HEADER + "\n" + text])
    assert f"{group}={feature}" in phi.vocabulary_
