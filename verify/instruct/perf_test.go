package instruct
import ("testing";"time";"strings";"encoding/json";"fmt")
func TestPerf(t *testing.T){
 kw := `{"keywords":["rivex","a+b"],"keyword":"(a|b)*c","frequency":3,"relation":"at least","forbidden_words":["aab","x.y"],"letter":"e","let_frequency":3,"let_relation":"at least","language":"de","num_sentences":4,"num_paragraphs":3,"num_words":5,"nth_paragraph":1,"first_word":"a","num_placeholders":4,"postscript_marker":"P.P.S","num_bullets":3,"num_highlights":3000000,"section_spliter":"Section","num_sections":4,"prompt_to_repeat":"hello","end_phrase":"x","capital_frequency":4,"capital_relation":"at least","phrase":"a b a","small_n":2,"n_start":1,"n_end":3,"last_word":"x","N":3,"n_sent":2,"n_words":3,"keyword1":"a","keyword2":"b","keyword3":"c","keyword4":"d","keyword5":"e","n":1,"m":2,"min_words":1,"max_words":2,"percentage":50,"reference_text":"abcdef","options":"yes/no","word":"aab","sep":"-"}`
 texts := map[string]string{}
 for _, u := range []string{"a","\n"," \n","*","**a","***","[","<<a","<<",". ",".","a.","a. ","a! ","?\"","\"","'","( ","((","{\"a\":","[","a b ","ab","aab ","The river. ","é","日本 ","Σ","'Σ","1,","1","-","- x\n","* x\n","\t","Question 1: ","Emma","“", "a\"\n","```","A.B. ","Mr. ","x*o*. ","😀","--","Zimbabwe\n","a,\"b\n","p.\n","\u0301","s "," "} { texts[u]=strings.Repeat(u, (1<<20)/len(u)) }
 type r struct{d time.Duration; s string}
 var worst []r
 for _, s := range suites { for _, ks := range s.kinds { for _, k := range ks {
   for u, text := range texts {
     ka,_ := readKwargs(json.RawMessage(kw)); c := k.build(ka); if ka.err!=nil {t.Fatal(k.name,ka.err)}
     st := time.Now(); judgeForms(c, forms(text,false), ""); d := time.Since(st)
     if d > 120*time.Millisecond { worst=append(worst,r{d,fmt.Sprintf("%s:%s %q",s.name,k.name,u)}) }
   }}}}
 for _, w := range worst { t.Log(w.d, w.s) }
}
