package verify
import ("testing";"time";"fmt";"sort";"strings";"os";"encoding/json")
func TestZZTime(t *testing.T){
 v,_:=New("math",nil)
 type r struct{d time.Duration; s string; v string}
 var all []r
 run:=func(g,p string){ best:=time.Hour; var w Verdict; for range 3 {a:=time.Now(); w=v.Verify(Row{Answer:g},p); best=min(best,time.Since(a))}; all=append(all,r{best,shown(g)+" ~ "+shown(p),w.Verdict+" "+w.Reason})}
 for _,c:=range mathEqual{run(c.gold,c.pred)}
 for _,c:=range mathDifferent{run(c.gold,c.pred)}
 if os.Getenv("HOST")!="" { all=nil
 for _,h:=range hostile() { run("5",h); run(h,h+"+1"); run("x^2+y",h) } }
 if os.Getenv("PAIRS")!="" { all=nil
  raw,_:=os.ReadFile("/work/shared/fixtures/math/math_verify_pairs.json"); var ps []mathPair; json.Unmarshal(raw,&ps); for _,p:=range ps {run(p.Gold,p.Pred)} }
 sort.Slice(all,func(i,j int)bool{return all[i].d>all[j].d})
 for _,x:=range all[:25]{ fmt.Println(x.d, x.s, "=>", x.v)}
}
func hostile() []string { return []string{"9^9^9^9^9","10^8!","(10^8)!",strings.Repeat("(",5000)+"1"+strings.Repeat(")",5000),strings.Repeat(`\frac{1}{1+`,600)+"1"+strings.Repeat("}",600), strings.Repeat(`\frac{1}{1+`,60)+"x"+strings.Repeat("}",60),
 strings.Repeat(`\sqrt{1+`,60)+"2"+strings.Repeat("}",60), strings.Repeat(`\sin(`,40)+"2"+strings.Repeat(")",40),strings.Repeat(`e^{`,40)+"2"+strings.Repeat("}",40), strings.Repeat(`\sqrt{2}+`,300)+"1", strings.Repeat(`(1+\sqrt{x})`,200), "(1+x)^{1000}", "x^{16000}", "(x+y+1/3)^{300}", "2^{32000}+3^{20000}", "3000!/2999!", strings.Repeat("3000!+",200)+"1", `\sqrt[64]{3000!}`, strings.Repeat(`\pm1`,200), strings.Repeat("1,",400), strings.Repeat("x,",190)+"y", strings.Repeat("-",4000)+"1", strings.Repeat("1+",2000)+"1", strings.Repeat("{",3000), strings.Repeat("|x",1000), strings.Repeat(`\boxed{`,5000)+"1", strings.Repeat("$",5000), strings.Repeat("$1$ ",5000), strings.Repeat("the answer is ",5000), strings.Repeat("9",4000),strings.Repeat("(x+1)",600),strings.Repeat("x^2y^3+",500)+"1", "1e400+1e-400", strings.Repeat("(1e400)*",50)+"1", `\log(10^{-400})`, `e^{60000}`, `\sin(10^{300})`, `\sin(10^{18})`, strings.Repeat(`\pi^{`,30)+"2"+strings.Repeat("}",30), `\sum_{k=1}^{10^9} k`, "1/"+strings.Repeat("1/",1000)+"1", `\begin{pmatrix}`+strings.Repeat("1&",900)+`\end{pmatrix}`, strings.Repeat(`\sqrt{2}\sqrt{3}\sqrt{5}\sqrt{7}+`,20)+"1", `\sqrt2+\sqrt3+\sqrt5+\sqrt7+\sqrt{11}+\sqrt{13}`,`(\sqrt2+\sqrt3+\sqrt5+\sqrt7+\sqrt{11}+\sqrt{13})-(\sqrt{13}+\sqrt2+\sqrt3+\sqrt5+\sqrt7+\sqrt{11})+5`, strings.Repeat("a",1000000), strings.Repeat("1 ",300000), strings.Repeat(`\(`,300000), strings.Repeat("final answer is ",60000), strings.Repeat("answer",100000),strings.Repeat("(2,3)\\cup ",150)+"(1,2)", `\left|`+strings.Repeat(`\left|`,50)+"x"} }
