package results

import (
"syscall"
	"context"
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
	"github.com/docket-project/docket/internal/store/engine"
)

func TestScratch(t *testing.T) {
	dir := os.Getenv("SCRATCH")
	if dir == "" {
		t.Skip()
	}
	os.Remove(dir + "/b.db")
	db, err := sql.Open("sqlite", dir+"/b.db?_pragma=page_size(4096)&_pragma=synchronous(off)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	schema, _ := os.ReadFile("../store/sqlite/migrations/00001_schema.sql")
	if _, err := db.Exec(string(schema)); err != nil {
		t.Fatal(err)
	}
	tx, _ := db.Begin()
	prep := func(s string, n int) *sql.Stmt {
		st, err := tx.Prepare("INSERT OR IGNORE INTO " + s + " VALUES (?" + strings.Repeat(",?", n-1) + ")")
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	names := map[string][]string{}
	files := map[string]*bufio.Writer{}
	for _, n := range []string{"report", "result", "verdict", "subject"} {
		f, _ := os.Create(dir + "/" + n + ".tsv")
		defer f.Close()
		files[n] = bufio.NewWriter(f)
		defer files[n].Flush()
	}
	_ = names
	esc := strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n")
	out := func(n string, st *sql.Stmt, cols ...any) {
		if _, err := st.Exec(cols...); err != nil {
			t.Fatal(err)
		}
		w := files[n]
		for i, c := range cols {
			if i > 0 {
				w.WriteByte('\t')
			}
			switch c := c.(type) {
			case nil:
				w.WriteString("\\N")
			case string:
				w.WriteString(esc.Replace(c))
			default:
				fmt.Fprint(w, c)
			}
		}
		w.WriteByte('\n')
	}
	rep, res, ver, sub := prep("report", 15), prep("result", 7), prep("verdict", 11), prep("subject", 7)
	seenV, seenS := map[[2]int64]bool{}, map[[2]int64]bool{}
	clusters := map[string]int64{"east": 1, "west": 2}
	if _, err := tx.Exec("INSERT INTO cluster VALUES (1,'east',1700000000000),(2,'west',1700000000000)"); err != nil {
		t.Fatal(err)
	}
	var n int
	if s := os.Getenv("WORKLOADS"); s != "" {
		fmt.Sscan(s, &n)
	}
	object := int64(1)
	total := 0
	for it := range (dataset{workloads: n, now: time.Now()}).all() {
		object++
		c := clusters[it.cluster]
		p, err := Project(it.report)
		if err != nil {
			t.Fatal(err)
		}
		subj := func(s *engine.Subject) any {
			if s == nil {
				return nil
			}
			id := s.ID()
			if !seenS[[2]int64{c, id}] {
				seenS[[2]int64{c, id}] = true
				out("subject", sub, c, id, s.APIVersion, s.Kind, s.Namespace, s.Name, s.UID)
			}
			return id
		}
		out("report", rep, c, object, 1, p.Namespace, p.Name, p.UID, p.Kind, p.Source, p.CreatedAt, subj(p.Scope), p.Pass, p.Fail, p.Warn, p.Error, p.Skip)
		for i, r := range p.Results {
			total++
			v := r.Verdict
			id := v.ID()
			if !seenV[[2]int64{c, id}] {
				seenV[[2]int64{c, id}] = true
				scored := 0
				if v.Scored {
					scored = 1
				}
				out("verdict", ver, c, id, v.Source, v.Policy, v.Rule, v.Category, v.Severity, v.Result, v.Message, scored, v.Properties)
			}
			out("result", res, c, object, i, r.Index, id, subj(r.Subject), r.Seconds)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	t.Log("results", total, "verdicts", len(seenV), "subjects", len(seenS), "reports", object)
}

func TestQ(t *testing.T) {
	file := os.Getenv("QDB")
	if file == "" {
		t.Skip()
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	var version string
	db.QueryRow("select sqlite_version()").Scan(&version)
	t.Log(version)
	text, _ := os.ReadFile(os.Getenv("QFILE"))
	for i, q := range strings.Split(string(text), ";\n") {
		name, q, ok := strings.Cut(q, "\n")
		if !ok || !strings.HasPrefix(name, ".print") {
			t.Log("skip", i, name)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		start := time.Now()
		c0 := cpu()
		rows, err := db.QueryContext(ctx, q)
		n := 0
		if err == nil {
			for rows.Next() {
				n++
			}
			err = rows.Err()
			rows.Close()
		}
		cancel()
		fmt.Println(name, time.Since(start).Milliseconds(), "ms cpu", cpu()-c0, n, err)
		if os.Getenv("QPLAN") != "" {
			rows, err := db.Query("EXPLAIN QUERY PLAN " + q)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var a, b, c int
				var d string
				rows.Scan(&a, &b, &c, &d)
				fmt.Println("    ", a, b, d)
			}
			rows.Close()
		}
	}
}

func cpu() int64 {
	var u syscall.Rusage
	syscall.Getrusage(0, &u)
	return (u.Utime.Nano() + u.Stime.Nano()) / 1e6
}
