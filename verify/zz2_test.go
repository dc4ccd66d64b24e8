package verify
import ("testing";"strings")
func BenchmarkZZ(b *testing.B){ v,_:=New("math",nil); h:=strings.Repeat("|x",1000); for b.Loop(){ v.Verify(Row{Answer:"5"},h)}}
func BenchmarkZY(b *testing.B){ v,_:=New("math",nil); h:=strings.Repeat("1+",2000)+"1"; for b.Loop(){ v.Verify(Row{Answer:"5"},h)}}
func BenchmarkZS(b *testing.B){ v,_:=New("math",nil); for b.Loop(){ v.Verify(Row{Answer:`2\sin x\cos x`},`\sin 2x`)}}
